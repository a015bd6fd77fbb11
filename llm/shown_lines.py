"""Which lines of a redacted report the model is shown: the decisive ones first, within a bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from knowledge.evidence import Reading
from knowledge.evidence.lines import Kind

_LINE = 300
_ORDER: Mapping[Kind, int] = {
    Kind.PROSE: 1,
    Kind.COMMAND: 2,
    Kind.LOG: 2,
    Kind.HEADING: 3,
    Kind.ENVIRONMENT: 3,
    Kind.CODE: 4,
    Kind.TEMPLATE: 5,
}
"""Which kinds go first when not all fit; noise and blanks are never shown."""


@dataclass(frozen=True, slots=True)
class ShownLines:
    """Line number (1-based, 0 the title) to its text, in the order of the report; and which process printed it."""

    lines: Mapping[int, str]
    ranks: Mapping[int, int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The lines with their numbers, and the rank of the process where it is known; gaps are marked."""
        out: list[str] = []
        last = -1
        for number, text in self.lines.items():
            if number > last + 1 and out:
                out.append("...")
            rank = f"[rank {self.ranks[number]}] " if number in self.ranks else ""
            out.append(f"{number}| {rank}{text}")
            last = number
        return "\n".join(out)


def choose_lines(reading: Reading, limit: int) -> ShownLines:
    """At most `limit` characters: the title, decisive lines and what is around them, then by kind."""
    near = {d.number + step for d in reading.decisive[:12] if not d.in_title for step in (-1, 0, 1)}
    ranked = sorted(
        ((0 if line.number in near else _ORDER[line.kind]), line.number, line.text.strip()[:_LINE])
        for line in reading.lines
        if line.kind in _ORDER and line.text.strip()
    )
    chosen = {0: reading.report.title[:_LINE]}
    room = limit - len(chosen[0])
    ranks = {line.number: line.rank for line in reading.lines if line.rank is not None}
    for _, number, text in ranked:
        room -= len(text) + (16 if number in ranks else 6)
        if room < 0:
            break
        chosen[number] = text
    lines = dict(sorted(chosen.items()))
    return ShownLines(lines, {number: ranks[number] for number in lines if number in ranks})
