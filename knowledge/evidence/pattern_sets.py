"""Many patterns in one linear pass over a line."""

from __future__ import annotations

from collections.abc import Iterable

import re2

MEMORY = 64 << 20
"""Bytes for the automaton of one set; with less it is thrown away and built again and again."""


def pattern_set(patterns: Iterable[str]) -> re2._Set:
    """A compiled set; `Match(text)` gives the places of the patterns found anywhere in it, or None."""
    options = re2.Options()
    options.max_mem = MEMORY
    out = re2.Set.SearchSet(options)
    for pattern in patterns:
        out.Add(pattern)
    out.Compile()
    return out
