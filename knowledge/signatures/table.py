"""Match a whole table of signatures against lines, in time linear in their length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import re2

from knowledge.signatures.load import load_signatures
from knowledge.signatures.signature import Signature

MAX_LINE = 2_000
"""Characters of a line that are looked at; longer ones are dumps."""
MAX_HITS = 20
"""Hits of one pattern in one call; a log repeats itself."""


class LineFilter:
    """Patterns compiled together: one pass over a line tells which of them it holds.

    re2.Filter looks for the patterns' literals first and runs only those whose literals are there: 0.2 ms for 100
    lines. One re2.Set over all patterns finds the same in 1.4 ms and 64 MB: with so many ".*" its automaton outgrows
    its memory and is rebuilt again and again.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        """Compile `patterns`; their places are their names."""
        self._empty = not patterns
        self._filter = re2.Filter()
        for pattern in patterns:
            self._filter.Add(pattern)
        if patterns:
            self._filter.Compile()

    def match(self, lines: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
        """(pattern, line, start, end) of every hit, by line; at most MAX_HITS of each pattern."""
        counts: Counter[int] = Counter()
        for number, line in enumerate(() if self._empty else lines):
            # A lone surrogate is not UTF-8; "?" keeps every offset where it was.
            text = line[:MAX_LINE].encode("utf-8", "replace")
            for index in sorted(self._filter.Match(text) or ()):
                if counts[index] < MAX_HITS:
                    counts[index] += 1
                    found = self._filter.re(index).search(text.decode("utf-8"))
                    yield index, number, found.start(), found.end()


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
