"""PyTorch's NCCL watchdog: how far each rank came before the timeout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading, ranks_in_words, sentence

MARKS = ("last enqueued NCCL work: ", "last enqueued work: ")
_STATE = re2.compile(
    r"(?:(?:PG (?:ID )?(\S+) .{0,60}?)?[Rr]ank (\d+)\].{0,200})?last enqueued (?:NCCL )?work: (\d+), last completed (?:NCCL )?work: (\d+)"
)


def read(lines: Sequence[Line]) -> ToolReading:
    """Ranks that enqueued fewer collectives than the others; nothing where one rank alone speaks."""
    groups: dict[str, dict[int, int]] = {}
    first: dict[str, int] = {}
    for line in lines:
        match = _STATE.search(line.text)
        rank = int(match.group(2)) if match and match.group(2) else line.rank
        if match and rank is not None:
            group = match.group(1) or line.group or ""
            first.setdefault(group, line.number)
            groups.setdefault(group, {}).setdefault(rank, int(match.group(3)))
    facts = []
    for group, enqueued in groups.items():
        if len(set(enqueued.values())) < 2:
            continue
        usual = (
            Counter(enqueued.values()).most_common(1)[0][0] if len(enqueued) > 2 else max(enqueued.values())
        )
        behind = [rank for rank, work in enqueued.items() if work < usual]
        if behind:
            last = max(enqueued[rank] for rank in behind)
            verb = "had" if len(behind) > 1 else "has"
            facts.append(
                Fact(
                    first[group],
                    f"{sentence(ranks_in_words(behind))} {verb} enqueued {last} collectives, the other ranks {usual}.",
                )
            )
    return ToolReading(tuple(facts))
