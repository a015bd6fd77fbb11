"""What the finders of secrets share: a place in the text, a value cut in two, and whether one looks random."""

from __future__ import annotations

import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import re2

PLACEHOLDER = re2.compile(r"\[redacted:[a-z0-9_-]+\]")
_CUT = re2.compile(r"^(\*{1,3}|\\\r?\n|\r?\n)([ \t]*)([A-Za-z0-9_~+/=.-]+)")
_REST_MIN = 4


_WORDS_FILE = Path(__file__).parent / "words.toml"


@cache
def _words() -> dict[str, str]:
    with _WORDS_FILE.open("rb") as file:
        return tomllib.load(file)


def words(name: str) -> frozenset[str]:
    """A list of words.toml."""
    return frozenset(_words()[name].split())


class Span(NamedTuple):
    """Where a secret stands and of what kind it is; `shown` replaces the usual placeholder."""

    start: int
    end: int
    kind: str
    shown: str = ""


@cache
def _number(pattern: re2._Regexp, name: str) -> int:
    return int(pattern.groupindex[name])


def place(found: re2._Match, name: str) -> tuple[int, int]:
    """Start and end of a named group; (-1, -1) when it took no part."""
    start, end = found.span(_number(found.re, name))
    return int(start), int(end)


def looks_random(value: str) -> bool:
    """Whether some piece of eight characters or more changes between letters and digits three times or more.

    Words, numbers, versions and names such as `llama-2-7b-hf` do not.
    """
    for mark in "-_./+~=:":
        value = value.replace(mark, " ")
    return any(len(piece) >= 8 and _changes(piece) >= 3 for piece in value.split())


def _changes(piece: str) -> int:
    digits = [char.isdigit() for char in piece[:200]]
    return sum(a != b for a, b in pairwise(digits))


def end_with_rest(text: str, start: int, end: int, length: int = 0) -> int:
    """The end of a value that a line end, a backslash or stars cut, its rest included.

    `length` is what a whole value of this kind has, 0 when that varies.
    """
    for _ in range(4):
        cut = _CUT.search(text[end : end + 400])
        if cut is None:
            break
        mark, indent, rest = cut.group(1), cut.group(2), cut.group(3)
        had = end - start
        if not (
            (mark.startswith("*") and len(rest) >= _REST_MIN)
            or (mark.startswith("\\") and not indent and not rest.startswith("-"))
            or (length and had + len(rest) == length)
            or ((not length or had < length) and len(rest) >= _REST_MIN and looks_random(rest) and not indent)
        ):
            break
        end += cut.end(3)
    return end
