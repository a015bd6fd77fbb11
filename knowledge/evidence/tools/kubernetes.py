"""`kubectl describe pod` and its events."""

from __future__ import annotations

from collections.abc import Sequence

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading

MARKS = ("OOMKilled", "FailedScheduling", "Evicted")
_KILLED = re2.compile(r"^\s*Reason:\s+OOMKilled")
_EXIT = re2.compile(r"^\s*Exit Code:\s+(\d+)")
_SHORT = re2.compile(r"FailedScheduling.*?(\d+)/(\d+) nodes are available.*?Insufficient ([\w./-]+)")
_EVICTED = re2.compile(r"Evicted.*?low on resource: ([\w-]+)")


def read(lines: Sequence[Line]) -> ToolReading:
    """Memory limit, scheduling and eviction, one sentence each."""
    facts: dict[str, Fact] = {}
    for index, line in enumerate(lines):
        if _KILLED.match(line.text):
            code = next(
                (m.group(1) for below in lines[index : index + 3] if (m := _EXIT.match(below.text))), "137"
            )
            text = f"Kubernetes killed the container for exceeding its memory limit (OOMKilled, exit code {code})."
            facts.setdefault("memory", Fact(line.number, text))
        elif (match := _SHORT.search(line.text)) is not None:
            resource = match.group(3).rstrip(".")
            text = f"The pod cannot be scheduled: none of {match.group(2)} nodes has enough free {resource}."
            facts.setdefault("scheduling", Fact(line.number, text))
        elif (match := _EVICTED.search(line.text)) is not None:
            facts.setdefault(
                "evicted", Fact(line.number, f"The pod was evicted: its node ran low on {match.group(1)}.")
            )
    return ToolReading(tuple(facts.values()))
