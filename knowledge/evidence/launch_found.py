"""Which program started the processes, and how many there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import re2

from knowledge.evidence.facts_table import table
from knowledge.evidence.launch_commands import processes_of

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
    """The program that started the processes; the most specific one named wins, one that is ruled out never."""
    joined = "\n".join(texts)
    for name, pattern in table()["launcher"].items():
        if not re2.search(pattern, joined):
            continue
        if re2.search(pattern, _REFUSED.sub(" ", joined)):
            return str(name).removesuffix("-frames")
    return None


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
