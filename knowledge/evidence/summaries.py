"""What launchers say at the end: which rank failed first, where, and how its process ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import re2

from knowledge.evidence.lines import Line

_TORCHRUN = re2.compile(r"^Root Cause \(first observed failure\)")
_FIELD = re2.compile(r"^\s*(rank|host|exitcode|traceback)\s*: (.+)$")
_NUMBER = re2.compile(r"-?\d+")
_FAILED = re2.compile(r"failed \(exitcode: (-?\d+)\) local_rank: \d+ \(pid: \d+\)")
_MPIRUN = re2.compile(r"process rank (\d+) with PID \d+ on node ([\w.-]+) exited on\b(?: signal (\d+))?")
_PROCESS_NAME = re2.compile(r"^\s*Process name: \[(?:\[\d+,\d+\]|[^\]]*@\d+),(\d+)\]")
_SPAWNED = re2.compile(
    r"ProcessExitedException: process (\d+) terminated with (?:signal (\w+)|exit code (\d+))"
)
_SLURM = re2.compile(
    r"srun: error: ([\w.-]+): task (\d+): "
    r"(Out Of Memory|Segmentation fault|Killed|Aborted|Bus error|Exited with exit code \d+)"
)
# The launcher knows ranks of its own node alone; DeepSpeed says so where there is one node.
# Of exit codes it tells the one that it sees first, which may be an echo's; a signal strikes the rank itself.
_DEEPSPEED = re2.compile(r"--local_rank=(\d+)['\"].* exits with return code = (-\d+)")
_ONE_NODE = re2.compile(r"\bnnodes=1, num_local_procs=")
WINDOW = 9
"""Lines of torchrun's block after its heading."""


@dataclass(frozen=True, slots=True)
class Blamed:
    """The process that a launcher names as the first to fail."""

    rank: int | None = None
    host: str | None = None
    ended: str = ""
    """How: "exit code 1", "signal 9"; "" when it does not say."""
    told_by: str | None = None
    """The host whose launcher says so, where the lines have prefixes of hosts."""


def read_summary(lines: Sequence[Line]) -> Blamed | None:
    """The failure that the launchers' closing lines name; torchrun's "Root Cause" block counts most."""
    weak: Blamed | None = None
    one_node = False
    for index, line in enumerate(lines):
        text = line.text
        if text[:4] == "Root" and _TORCHRUN.match(text):
            return _block(line, lines[index + 1 : index + 1 + WINDOW])
        one_node = one_node or ("nnodes=1," in text and bool(_ONE_NODE.search(text)))
        if weak is None and _hinted(text):
            found = _one_line(line, one_node=one_node)
            weak = replace(found, told_by=line.host) if found else None
    return weak


def _hinted(text: str) -> bool:
    return any(
        word in text
        for word in (
            "exitcode",
            "process rank",
            "Process name",
            "ProcessExited",
            "srun: error",
            "exits with return code",
        )
    )


def _block(heading: Line, lines: Sequence[Line]) -> Blamed:
    fields: dict[str, str] = {}
    for line in lines:
        if match := _FIELD.match(line.text):
            fields.setdefault(match.group(1), match.group(2).strip())
    rank, numbers = _NUMBER.search(fields.get("rank", "")), _NUMBER.findall(fields.get("exitcode", ""))
    return Blamed(
        int(rank.group(0)) if rank else None,
        fields.get("host"),
        _how(int(numbers[0])) if numbers else "",
        heading.host,
    )


def _one_line(line: Line, *, one_node: bool) -> Blamed | None:
    text = line.text
    if match := _DEEPSPEED.search(text):
        rank = int(match.group(1)) if one_node else None
        return Blamed(rank, line.host, _how(int(match.group(2))))
    if match := _FAILED.search(text):
        return Blamed(None, line.host, _how(int(match.group(1))))
    if match := _MPIRUN.search(text):
        ended = f"signal {match.group(3)}" if match.group(3) else ""
        return Blamed(int(match.group(1)), match.group(2), ended)
    if match := _PROCESS_NAME.match(text):
        return Blamed(int(match.group(1)))
    if match := _SPAWNED.search(text):
        ended = f"signal {match.group(2)}" if match.group(2) else f"exit code {match.group(3)}"
        return Blamed(int(match.group(1)), None, ended)
    if match := _SLURM.search(text):
        return Blamed(int(match.group(2)), match.group(1), match.group(3).strip().lower())
    return None


def _how(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
