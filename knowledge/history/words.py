"""Words for finding a report again: identifiers whole and in parts, numbers and versions kept, endings taken off.

embeddings.tokens, made for judging a report, drops numbers. Here "CVE-2022-42889", "9.4.43" and "HTTP 404" tell one
failure from the next of its kind.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import re2

MOST_WORDS = 400
"""Distinct words kept of a body: those that come first. A log of 100,000 lines says no more in its later ones."""
_MOST_TEXT = 40_000
_LONGEST = 60
_HASH = re2.compile(r"(?i)^(?:0x)?[0-9a-f]{9,}$")
_WORD = re2.compile(r"[\pL\pN_](?:[\pL\pN_.\-]*[\pL\pN_])?")
_PART = re2.compile(r"[^.\-_]+")
_WIDE = re2.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]+")
"""Scripts that put no space, or few, between words."""
_GRAMMAR = (
    "a an the this that these those it its is are was were be been being am do does did done has have had having "
    "i we you they he she my our your their me us them in on at to of for from by with as into about after before "
    "and or but if then else when while where which who what how why not no nor so than too very can could will "
    "would should may might must also just there here all any some such only other more most own same up down out "
    "over under again once am pm e.g i.e etc"
)
_STOP = frozenset(_GRAMMAR.split())


def words(text: str) -> list[str]:
    """Return the words of `text` in order, linear in its length; at most its first 40,000 characters are read.

    A compound stands whole and in its parts ("fs.s3a.endpoint": itself, fs, s3a, endpoint; "S3AFileSystem": itself,
    s3, file, system, ...). Dropped: single characters, words of grammar, hashes and addresses, encoded data.
    """
    out: list[str] = []
    for word in _WORD.findall(text[:_MOST_TEXT]):
        if len(word) <= _LONGEST:
            out += _forms(word)
    return out


def counted(text: str, most: int = MOST_WORDS) -> dict[str, int]:
    """How often each of the first `most` distinct words stands in `text`."""
    found = Counter(words(text))
    return dict(list(found.items())[:most])


@lru_cache(maxsize=1 << 15)
def _forms(word: str) -> tuple[str, ...]:
    if not word.isascii() and _WIDE.search(word):
        return _pairs(word)
    if _HASH.match(word) and any(c.isdigit() for c in word):
        return ()
    parts = _PART.findall(word)
    forms = [word.lower()] if len(parts) > 1 else []
    for part in parts:
        forms.append(_stem(part.lower()))
        pieces = _camel(part)
        if len(pieces) > 1:
            forms += [_stem(piece.lower()) for piece in pieces]
    return tuple(form for form in forms if len(form) > 1 and form not in _STOP)


def _camel(name: str) -> list[str]:
    """Split at capitals and digits: "NullPointer" (Null, Pointer), "HTTPServer2" (HTTP, Server, 2)."""
    pieces: list[str] = []
    start = 0
    for at in range(1, len(name)):
        before, here, after = name[at - 1], name[at], name[at + 1 : at + 2]
        turns = here.isdigit() != before.isdigit()
        if turns or (here.isupper() and (before.islower() or (before.isupper() and after.islower()))):
            pieces.append(name[start:at])
            start = at
    return [*pieces, name[start:]]


def _pairs(word: str) -> tuple[str, ...]:
    """Pairs of neighbouring characters, the usual stand-in for words in scripts without spaces."""
    return tuple(word[at : at + 2].lower() for at in range(max(len(word) - 1, 1)))


def _stem(word: str) -> str:
    """An English word without its plural, -ed or -ing; others as they are. Rough, and the same on both sides."""
    if not (word.isascii() and word.isalpha()) or len(word) < 4:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("ing") and len(word) > 5:
        return word[:-3]
    if word.endswith("ed") and len(word) > 4:
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-2] if word.endswith("sses") else word[:-1]
    return word
