"""What part a line of a log plays: the fault itself, its echo on other ranks, the launcher's summary, advice."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from pathlib import Path

import re2

from knowledge.evidence.pattern_sets import pattern_set
from knowledge.signatures import SignatureHit


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
