"""What the finders of secrets share: a place in the text, a value cut in two, whether it is a secret."""

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


# Whether what follows a name such as `password` is a secret, or code, a placeholder or a plain word.

_HOLDS_PLACE = re2.compile(
    r"(?i)^(?:"
    r"[*x.•_…?-]+|y+|z+|xyz|anonymous|<[^<>]*>?"
    r"|[[(](?:redacted|hidden|secret|masked|removed|filtered|pad|unk|cls|sep|mask)[\])]?"
    r"|%[a-z_]+%|\$(?-i:[A-Z_][A-Z0-9_]*|[a-z_]+)|\$[{(].*|\$env:.*|\{\{.*|\{[a-z_.]*\}?|%[sdr]|%\(.*|!(?:vault|secret|env)\b.*"
    r"|(?:your|my|insert|enter|replace|put|some|the|example|dummy|fake)[_ -]?[a-z_ -]*"
    r"(?:token|key|password|secret|here|passwd|pass|pat)[a-z_-]*"
    r"|none|null|nil|true|false|undefined|nan|redacted|hidden|masked|removed|n/a|todo|tbd"
    r")$"
)
_TALK = re2.compile(r"(?i)^[a-z '-]*\b(?:password|token|key|secret)\b[a-z '-]*$")
_CODE = re2.compile(
    r"^(?:[A-Za-z_][A-Za-z_.]*[(\[{].*|[a-z_]+(?:\.[A-Za-z_]+)+"
    r"|(?:Optional|Union|List|Dict|str|int|bool|bytes|float|object|Any|string|lambda)\b[^0-9]*)$"
)
_PATH = re2.compile(r"^(?:~|\.{1,2})?(?:/[\w.+@:$\[\]{}-]+){2,}/?$|^[A-Za-z]:[\\/]|^\.{1,2}/|^~/")
_ADDRESS = re2.compile(r"^[a-z][a-z0-9+.-]*://")
_SENSITIVE = re2.compile(r"(?i)pass|secret|token|key|pwd|cred|auth")
_PLAIN_WORDS = words("plain_words")


def is_placeholder(value: str) -> bool:
    """Whether a value only holds the place of a secret: `***`, `$KEY`, `<token>`, `None`, one redacted before."""
    value = value.strip()
    if value.isalnum() and not value.isalpha():
        return False  # Most values; none of the patterns has letters and digits alone.
    return not value or value.startswith("[redacted:") or _HOLDS_PLACE.match(value[:200]) is not None


def is_secret(
    value: str, *, strong: bool, word: bool, quoted: bool, spaced: bool, colon: bool, name: str
) -> bool:
    """Whether the value of a sensitive name is one to hide.

    `strong`: the name says so by itself (`password`, not `token`); `word`: it is a password's, which can be a plain
    word; `quoted`, `spaced` (blanks around the sign) and `colon` say how it was written.
    """
    if not strong and len(value) < 8:
        return False
    if is_placeholder(value) or (word and name.lower().endswith("pwd") and value.startswith("/")):
        return False
    value = PLACEHOLDER.sub("x", value).strip() if "[redacted:" in value else value.strip()
    if not strong and not looks_random(value):
        return False
    if not value.isalnum() and _is_code_or_place(value, quoted):
        return False
    if not strong:
        return not value.startswith("0x")
    lowered = value.lower()
    if lowered.rstrip(".,;:!") in _PLAIN_WORDS or (value.isdigit() and not word):
        return False
    if quoted:
        return len(value) >= 3 and not name.lower().endswith(lowered)
    if value.isascii() and value.replace("_", "").isalpha():
        lower_code = name == name.lower() and (lowered == name or _SENSITIVE.search(value) is not None)
        return not lower_code and (word or (not colon and not spaced) or looks_random(value))
    return len(value) >= (3 if colon else 1)


def _is_code_or_place(value: str, quoted: bool) -> bool:
    """Whether it is a path, an address, an expression, or words about a secret ("the password printed")."""
    if _ADDRESS.match(value) or _TALK.match(value):
        return True
    if _PATH.match(value):
        return not (len(value) >= 36 and "." not in value and looks_random(value))
    return not quoted and _CODE.match(value) is not None
