"""Cues: the ideas of a report in plain words, as names the judge can learn from."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import re2

_FILE = Path(__file__).with_suffix(".toml")


@cache
def _table() -> tuple[tuple[str, ...], re2.Set, tuple[int, ...]]:
    with _FILE.open("rb") as file:
        cues: dict[str, str] = tomllib.load(file)["cue"]
    options = re2.Options()
    options.max_mem = 256 << 20
    options.never_capture = True
    options.case_sensitive = False
    together = re2.Set.SearchSet(options)
    for pattern in cues.values():
        together.Add(pattern)
    together.Compile()
    return tuple(cues), together, tuple(range(len(cues)))


def cue_names() -> tuple[str, ...]:
    """Every cue, in the order of the table."""
    return _table()[0]


def find_cues(text: str) -> tuple[str, ...]:
    """The cues in a text, in the order of the table; one pass, linear in its length."""
    names, together, _ = _table()
    return tuple(names[index] for index in sorted(together.Match(text) or ()))
