"""What part a line of a log plays: the fault itself, its echo on other ranks, the launcher's summary."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from pathlib import Path

import re2

from knowledge.evidence.lines import Line, pattern_set
from knowledge.signatures import SignatureHit

# What launchers say at the end: which rank failed first, where, and how its process ended.

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


class Part(IntEnum):
    """The smaller, the sooner a line is the root of what is printed around it."""

    FAULT = 0
    """An exception, a failed assertion, a known error of one process."""
    KILLED = 1
    """A process was ended from outside, or by a signal: nothing of its own is printed."""
    LOGGED = 2
    """An error message that is no exception."""
    WAITED = 3
    """A rank waited in vain for another one, or could not reach it."""
    ECHO = 4
    """A rank lost a peer that had died already."""
    SUMMARY = 5
    """A launcher or a parent says that a process failed."""
    TEARDOWN = 6
    """What is done to the rest of the job because of a failure."""
    NONE = 9


_FILE = Path(__file__).parent / "marks.toml"
_WAITED_SIGNATURES = re2.compile(
    r"^(?:nccl-(?:watchdog|heartbeat|unhandled-system|connect|internal|message-truncated)|gloo-(?:timeout|connect)|monitored-barrier|c10d-client|store-|rdzv-|connection-|no-route"
    r"|network-unreachable|hvd-stalled|python-timeout|mpi-btl|pmix-error|ray-node-dead|ray-get-timeout)"
)
_QUIET = frozenset("DIW")
_LOUD = frozenset("EF")


@cache
def _set() -> tuple[re2._Set, tuple[str, ...]]:
    with _FILE.open("rb") as file:
        table = tomllib.load(file)
    patterns = [("" if mark["case"] else "(?i)") + "|".join(mark["any"]) for mark in table.values()]
    return pattern_set(patterns), tuple(table)


def marks_of(text: str) -> frozenset[str]:
    """Names of the marks (marks.toml) that a line bears; one pass over it."""
    patterns, names = _set()
    found = patterns.Match(text)
    return frozenset(names[index] for index in found) if found else frozenset()


def part_of(marks: frozenset[str], hits: Sequence[SignatureHit], level: str | None, *, raised: bool) -> Part:
    """The part that a line plays; `raised`: it ends a traceback, whatever its name looks like."""
    raised = raised or "exception" in marks
    if not raised and marks & {"advice", "harmless"} and not any(h.signature.role == "root" for h in hits):
        return Part.NONE
    if "killed" in marks:
        return Part.SUMMARY if "maybe" in marks else Part.KILLED
    for name in ("teardown", "summary", "echo"):
        if name in marks:
            return Part[name.upper()]
    if "harmless" in marks and "waited" in marks and not raised:
        return Part.ECHO
    roots = [h.signature.id for h in hits if h.signature.role == "root"]
    if "waited" in marks or (roots and all(_WAITED_SIGNATURES.match(id) for id in roots)):
        return Part.WAITED
    if any(h.signature.role == "consequence" for h in hits) and not roots:
        return Part.ECHO
    if raised or roots:
        return Part.LOGGED if level in _QUIET and not raised else Part.FAULT
    if "hard" in marks and level not in _QUIET:
        return Part.LOGGED
    return Part.LOGGED if level in _LOUD else Part.NONE
