"""Which program started the processes, and how many there are."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator

import re2

from knowledge.evidence.facts_table import table

# How many processes a launcher's command starts.

_TORCHRUN = re2.compile(
    r"\btorchrun\b|torch(?:\.distributed\.|/distributed/)(?:run|launch)\b|torchelastic\.distributed\.launch"
)
_ACCELERATE = re2.compile(r"\baccelerate[- ]launch\b")
_DEEPSPEED = re2.compile(r"(?:^|[\s$>`(/])deepspeed\s+(?:--|\S+\.py)")
_MPI = re2.compile(r"\b(?:mpirun|mpiexec|orterun|prterun|mpirun\.\w+|mpiexec\.\w+|horovodrun)\b")
_SRUN = re2.compile(r"(?:^|[\s$>`])(?:srun|sbatch|salloc)\s")
_SBATCH = re2.compile(r"^\s*#SBATCH\s")
_WORLD_INFO = re2.compile(r"--world_info[= ]([A-Za-z0-9+/=_-]{8,})")
_PROGRAM = re2.compile(r"\s(?:python[\d.]*|bash|sh|singularity|\S+\.(?:py|sh))\s")
_COMMENT = re2.compile(r"^\s*#(?:\s|[a-z])")
_PER_NODE = r"--?nproc[_-]per[_-]node"


def processes_of(texts: Iterable[str]) -> list[int]:
    """What each command says outright; commands whose numbers are variables say nothing."""
    commands = list(_commands(texts))
    batch = " ".join(c for c in commands if _SBATCH.match(c))
    out: list[int] = []
    for command in commands:
        if _SBATCH.match(command) or _COMMENT.match(command):
            continue
        count = _of_one(command, batch)
        if count:
            out.append(count)
    if not out and batch:
        count = _slurm(batch)
        out += [count] if count else []
    return out


def _commands(texts: Iterable[str]) -> Iterator[str]:
    """Commands on one line each, their continuations joined."""
    held = ""
    for text in texts:
        stripped = text.strip()
        if stripped.endswith("\\"):
            held += stripped[:-1] + " "
            if len(held) < 8000:
                continue
            stripped = ""
        yield held + stripped
        held = ""
    if held:
        yield held


def _of_one(command: str, batch: str) -> int | None:
    if info := _WORLD_INFO.search(command):
        return _devices(info.group(1))
    if _TORCHRUN.search(command):
        return _torchrun(command, batch)
    if _ACCELERATE.search(command):
        return _value(command, r"--num[_-]processes")
    if _DEEPSPEED.search(command):
        return _product(_value(command, r"--num_gpus"), _value(command, r"--num_nodes", missing=1))
    if _MPI.search(command):
        return _value(_own_options(command), r"\s--?(?:np|n|num-proc)")
    if _SRUN.search(command):
        return _slurm(batch + " " + _own_options(command))
    return None


def _own_options(command: str) -> str:
    """A launcher's options, without those of the program behind it."""
    program = _PROGRAM.search(command)
    return command[: program.start()] if program else command


def _torchrun(command: str, batch: str) -> int | None:
    per_node = _value(
        command, _PER_NODE, missing=1 if "torchrun" in command or "--nnodes" in command else None
    )
    if per_node is None and _said(command, _PER_NODE):
        per_node = _value(batch, r"--gpus-per-node") if batch else None
    nodes = _value(command, r"--?nnodes", missing=1)
    if nodes is None and batch:
        nodes = _value(batch, r"(?:--nodes|\s-N)")
    if per_node == 1 and nodes == 1 and not _said(command, _PER_NODE):
        return None  # a bare mention of torchrun
    return _product(per_node, nodes)


def _slurm(options: str) -> int | None:
    total = _value(options, r"(?:--ntasks|\s-n)")
    if total:
        return total
    per_node = _value(options, r"--ntasks-per-node") or _value(options, r"--gpus-per-node(?:=\w+:)?")
    return _product(per_node, _value(options, r"(?:--nodes|\s-N)", missing=1))


def _said(text: str, option: str) -> bool:
    return bool(re2.search(option + r"[ =]", text))


def _value(text: str, option: str, *, missing: int | None = None) -> int | None:
    """The number given to an option; `missing` where the option is not there, None where it is no number."""
    match = re2.search(option + r"(?:=|\s+)['\"]?(?:\d+:)?(\d{1,6})(?:['\"\s`,;)\]\\]|$)", text)
    if match:
        return int(match.group(1))
    return None if _said(text, option) else missing


def _product(per_node: int | None, nodes: int | None) -> int | None:
    return per_node * nodes if per_node and nodes else None


def _devices(encoded: str) -> int | None:
    """Devices in DeepSpeed's `--world_info`: base64 of {"host": [0, 1, ...]}."""
    try:
        info = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (ValueError, RecursionError):
        return None
    if not isinstance(info, dict) or not all(isinstance(v, list) for v in info.values()):
        return None
    return sum(len(devices) for devices in info.values()) or None


MOST_LINES = 4000
"""Lines that name a launcher or a count that are looked at."""
LARGEST = 100_000

_WORTH = re2.compile(
    r"(?i)torchrun|torch[./]distributed|accelerate[- ]launch|deepspeed|mpirun|mpiexec|orterun|prterun|horovodrun|srun|sbatch"
    r"|colossalai run|world[_ -]?size|nranks|world_info|\bgpus?\b|processes|nproc|--num_|member: \d"
)
_REFUSED = re2.compile(
    r"(?i)(?:\b(?:not|never|without|instead of|rather than|than|don't|doesn't|no longer) (?:us(?:e|es|ing) |via |through |running )?)"
    r"(?:the )?`?[\w.]+`?"
)
_SAID = (
    # DeepSpeed's own check: train_batch_size != micro batch * accumulation * world size
    re2.compile(r"world_size \d+ != \d+ \* \d+ \* (\d+)"),
    re2.compile(r"\bMEMBER: \d+/(\d+)"),
    re2.compile(
        r"(?i)\b(?:distributed_|dist_|torch_)?world[_ -]?size['\"]?\s?(?:=|:|is|of)?\s?['\"]?(\d+)\b"
    ),
    re2.compile(r"(?i)\bnranks[ =:]+(\d+)\b"),
)
_PART = re2.compile(r"(?i)(?:parallel|local|node|group)\S{0,3}[\s_-]*$")
_WORDS = {"two": 2, "three": 3, "four": 4, "eight": 8, "sixteen": 16}
_COUNT = r"(\d{1,4}|two|three|four|eight|sixteen)"
_EACH = (
    re2.compile(
        rf"(?i)\b{_COUNT} (?:nodes?|machines|servers|hosts|instances)\s?(?:,|with|x|×|\*|of|each|having|\(|and)*\s?(?:each )?(?:with |having |has )?"
        rf"{_COUNT}\s?x? ?(?:[\w-]+ ){{0,3}}gpus? ?(?:each|per (?:node|machine|server|host)|on each|/node)"
    ),
    re2.compile(
        rf"(?i)\b{_COUNT} (?:nodes|machines|servers|hosts|instances),? ?(?:each (?:with|having|has)|x|×|\*) ?{_COUNT} ?x? ?(?:[\w-]+ ){{0,3}}gpus?\b"
    ),
    re2.compile(
        rf"(?i)\b{_COUNT} gpus? (?:per|on each|/) ?(?:node|machine|server|host),? ?(?:on|over|and|across|with|x|×)? ?{_COUNT} (?:nodes|machines|servers|hosts)\b"
    ),
)


def find_launcher(texts: Iterable[str]) -> str | None:
    """The program that started the processes: the most specific one of those named."""
    return next(named_launchers(texts), None)


def named_launchers(texts: Iterable[str]) -> Iterator[str]:
    """Launchers that a text names, the most specific first, without those that it rules out."""
    joined = "\n".join(texts)
    for name, pattern in table()["launcher"].items():
        if re2.search(pattern, joined) and re2.search(pattern, _REFUSED.sub(" ", joined)):
            yield str(name).removesuffix("-frames")


def launcher_ids() -> frozenset[str]:
    """The launchers that can be found."""
    return frozenset(str(name).removesuffix("-frames") for name in table()["launcher"])


def find_world_size(texts: Iterable[str]) -> int | None:
    """Number of processes: of the launcher's command, of what a process printed, of "2 nodes with 8 GPUs each".

    Of several commands the largest counts: the others are the smaller runs that people try next.
    """
    worth = list(_worth(texts))
    for source in (processes_of(worth), list(_printed(worth)), list(_described(worth))):
        counts = [count for count in source if 0 < count <= LARGEST]
        if counts:
            return max(counts)
    return None


def _worth(texts: Iterable[str]) -> Iterator[str]:
    """Lines that could tell, each once; a command keeps the lines that it goes on over."""
    seen: set[str] = set()
    going_on = False
    for text in texts:
        if len(seen) >= MOST_LINES:
            return
        if going_on or (text not in seen and _WORTH.search(text)):
            seen.add(text)
            yield text
            going_on = text.rstrip().endswith("\\")


def _printed(texts: list[str]) -> Iterator[int]:
    for pattern in _SAID:
        found = False
        for text in texts:
            for match in pattern.finditer(text):
                follows = text[match.end() : match.end() + 4].lstrip()
                # Of a comparison, or of the part of the ranks that shares one model.
                if follows[:2] == "!=" or follows[:1] == "*" or _PART.search(text[: match.start()]):
                    continue
                found = True
                yield int(match.group(1))
        if found:
            return


def _described(texts: list[str]) -> Iterator[int]:
    for pattern in _EACH:
        for text in texts:
            for match in pattern.finditer(text):
                yield _number(match.group(1)) * _number(match.group(2))


def _number(text: str) -> int:
    return _WORDS.get(text.lower()) or int(text)
