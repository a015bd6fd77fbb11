"""Match a whole table of signatures against lines, in time linear in their length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import re2

from knowledge.signatures.load import load_signatures
from knowledge.signatures.signature import Signature

MAX_LINE = 2_000
"""Characters of a line that are looked at; longer ones are dumps."""
MAX_HITS = 20
"""Hits of one signature in one call; a log repeats itself."""


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
        # re2.Filter looks for the patterns' literals first and runs only those whose literals are there:
        # 0.2 ms a 100 lines. One re2.Set over all patterns finds the same at 1.4 ms and 64 MB: with so many
        # ".*" its automaton outgrows its memory and is rebuilt again and again.
        self._filter = re2.Filter()
        for signature in self.signatures:
            self._filter.Add(signature.pattern)
        if self.signatures:
            self._filter.Compile()

    def match(self, lines: Sequence[str]) -> list[SignatureHit]:
        """Hits in the order of lines, then of the table; at most MAX_HITS of each signature."""
        hits: list[SignatureHit] = []
        counts: Counter[int] = Counter()
        for number, line in enumerate(lines if self.signatures else ()):
            # A lone surrogate is no UTF-8; "?" keeps every offset where it was.
            text = line[:MAX_LINE].encode("utf-8", "replace")
            for index in sorted(self._filter.Match(text) or ()):
                if counts[index] < MAX_HITS:
                    counts[index] += 1
                    hits.append(self._locate(index, number, text.decode("utf-8")))
        return hits

    def _locate(self, index: int, number: int, text: str) -> SignatureHit:
        found = self._filter.re(index).search(text)
        return SignatureHit(self.signatures[index], number, found.start(), found.end())


def most_specific(hits: Iterable[SignatureHit]) -> list[SignatureHit]:
    """The hits without those of a general signature on a line where a specific one that it names is found."""
    kept = list(hits)
    on_line: dict[int, set[str]] = {}
    for hit in kept:
        on_line.setdefault(hit.line, set()).add(hit.signature.id)
    return [hit for hit in kept if on_line[hit.line].isdisjoint(hit.signature.also_fires_on)]
