"""nccl-tests: bandwidth and wrong results."""

from __future__ import annotations

from collections.abc import Sequence

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading

MARKS = ("# Avg bus bandwidth", "# Out of bounds values")
_BANDWIDTH = re2.compile(r"^\s*# Avg bus bandwidth\s*:\s*([\d.]+)")
_WRONG = re2.compile(r"^\s*# Out of bounds values\s*:\s*(\d+) FAILED")
_RANK = re2.compile(r"^\s*#\s+Rank\s+(\d+) ")


def read(lines: Sequence[Line]) -> ToolReading:
    """The average bus bandwidth, and whether results were wrong."""
    facts: list[Fact] = []
    ranks: set[int] = set()
    for line in lines:
        if (match := _RANK.match(line.text)) is not None:
            ranks.add(int(match.group(1)))
        elif (match := _WRONG.match(line.text)) is not None:
            facts.append(
                Fact(
                    line.number,
                    f"nccl-tests got {match.group(1)} wrong values: data was corrupted in transit.",
                )
            )
        elif (match := _BANDWIDTH.match(line.text)) is not None:
            over = f" over {len(ranks)} ranks" if ranks else ""
            facts.append(
                Fact(line.number, f"nccl-tests measured {match.group(1)} GB/s of bus bandwidth{over}.")
            )
    return ToolReading(tuple(facts[:2]), world_size=len(ranks) or None)
