"""Tokens that their issuer's prefix gives away, wherever they are and however they are cut."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import re2

from knowledge.redaction.span import Span, end_with_rest, looks_random, place

_TABLE = Path(__file__).parent / "tokens.toml"

_APART = dict.fromkeys(map(ord, "_~=.-"), " ")


@dataclass(frozen=True, slots=True)
class _Issuer:
    kind: str
    least: int
    """Characters that follow the prefix at least."""
    length: int
    """Characters that follow the prefix of every such token, 0 when that varies."""
    upper: bool
    """Whether the rest is upper-case letters and digits."""
    plain: bool
    """Whether the rest has letters and digits alone."""
    apart: bool
    """Whether no letter or digit can precede: the prefix is short or a word."""


@cache
def _issuers() -> tuple[dict[str, _Issuer], re2._Regexp]:
    with _TABLE.open("rb") as file:
        entries = tomllib.load(file)["issuer"]
    by_prefix: dict[str, _Issuer] = {}
    inside: list[str] = []
    apart: list[str] = []
    for entry in entries:
        length = entry.get("length", 0)
        marks = (bool(entry.get(mark)) for mark in ("upper", "plain", "apart"))
        issuer = _Issuer(entry["kind"], entry.get("least", length), length, *marks)
        for prefix in entry["prefixes"]:
            by_prefix[prefix] = issuer
            apart.append(prefix)
            if not entry.get("apart"):
                inside.append(prefix)
    free, bounded = (
        "|".join(re2.escape(p) for p in sorted(group, key=lambda p: (-len(p), p)))
        for group in (inside, apart)
    )
    body = r"[A-Za-z0-9_~=.-]*"
    return by_prefix, re2.compile(rf"(?:(?P<a>{free})|(?:^|[^A-Za-z0-9])(?P<b>{bounded}))(?P<body>{body})")


def token_kinds() -> tuple[str, ...]:
    """The kinds of tokens with a prefix."""
    return tuple(dict.fromkeys(issuer.kind for issuer in _issuers()[0].values()))


def find_tokens(text: str) -> Iterator[Span]:
    """Yield each token with a known prefix, long enough and not a name made of words."""
    by_prefix, pattern = _issuers()
    for found in pattern.finditer(text):
        body, last = place(found, "body")
        start = max(place(found, "a")[0], place(found, "b")[0])
        issuer = by_prefix[text[start:body]]
        end = body + len(text[body:last].rstrip("./-~+"))
        if end == last:
            end = end_with_rest(text, body, end, issuer.length)
        value = "".join(text[body:end].split()).replace("\\", "").replace("*", "")
        if _credible(value, issuer):
            yield Span(start, end, issuer.kind)


def _credible(value: str, issuer: _Issuer) -> bool:
    """Whether what follows the prefix is long enough and not a name made of words."""
    if issuer.upper or issuer.plain:
        value = value.translate(_APART).partition(" ")[0]
    if len(value) < issuer.least:
        return False
    if issuer.upper:
        return value[: issuer.least].upper() == value[: issuer.least]
    digit, lower, upper = (any(map(kind, value)) for kind in (str.isdigit, str.islower, str.isupper))
    if issuer.apart:
        return looks_random(value) or (digit and lower and upper)
    if not digit and len(value) < issuer.length - 4:
        # Too short for a whole token: letters alone are one when they change case as no CamelCase does.
        return 2 * sum(a.isupper() != b.isupper() for a, b in pairwise(value)) >= len(value)
    return (lower and upper) or (digit and (lower or upper))
