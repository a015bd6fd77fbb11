"""How many processes a launcher's command starts."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator

import re2

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
_ALL = ("gpu", "auto", "cuda")


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
    except (binascii.Error, ValueError):
        return None
    if not isinstance(info, dict) or not all(isinstance(v, list) for v in info.values()):
        return None
    return sum(len(devices) for devices in info.values()) or None
