"""The kernel's out-of-memory killer, in dmesg and the journal."""

from __future__ import annotations

from collections.abc import Sequence

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading

MARKS = ("ut of memory: Kill",)
_KILLED = re2.compile(r"(Memory cgroup o|O)ut of memory: Kill(?:ed)? process (\d+) \(([^)]{1,40})\)")


def read(lines: Sequence[Line]) -> ToolReading:
    """One sentence for the first process that was killed."""
    for line in lines:
        if (match := _KILLED.search(line.text)) is not None:
            whose = (
                "its container reached its memory limit"
                if "cgroup" in match.group(1)
                else "the machine ran out of memory"
            )
            return ToolReading(
                (
                    Fact(
                        line.number,
                        f"The kernel killed process {match.group(2)} ({match.group(3)}): {whose}.",
                    ),
                )
            )
    return ToolReading()
