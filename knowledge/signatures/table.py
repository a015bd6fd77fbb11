"""Match a whole table of signatures against lines, in time linear in their length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from knowledge.signatures.line_filter import LineFilter
from knowledge.signatures.load import load_signatures
from knowledge.signatures.signature import Signature


@dataclass(frozen=True, slots=True)
class SignatureHit:
    """A signature found: `line` is 0-based, `start` and `end` are character offsets in that line."""

    signature: Signature
    line: int
    start: int
    end: int


class SignatureTable:
    """Signatures compiled together: one pass over a line tells which of them it may hold."""

    def __init__(self, signatures: Sequence[Signature] | None = None) -> None:
        """Compile `signatures` (default: the shipped ones)."""
        self.signatures = tuple(load_signatures() if signatures is None else signatures)
        self._filter = LineFilter([signature.pattern for signature in self.signatures])

    def match(self, lines: Sequence[str]) -> list[SignatureHit]:
        """Hits in the order of lines, then of the table; at most MAX_HITS of each signature."""
        return [
            SignatureHit(self.signatures[index], number, start, end)
            for index, number, start, end in self._filter.match(lines)
        ]


def most_specific(hits: Iterable[SignatureHit]) -> list[SignatureHit]:
    """The hits without those of a general signature on a line where a specific one that it names is found."""
    kept = list(hits)
    on_line: dict[int, set[str]] = {}
    for hit in kept:
        on_line.setdefault(hit.line, set()).add(hit.signature.id)
    return [hit for hit in kept if on_line[hit.line].isdisjoint(hit.signature.also_fires_on)]
