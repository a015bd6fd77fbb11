"""Secrets that are known by their own look: private keys, and tokens with their issuer's prefix."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import re2

from knowledge.redaction.span import Span, end_with_rest, looks_random, place

# Private keys: whole, cut at either end, behind the prefixes of a log, or a body alone.

_MARK = re2.compile(
    r"-{4,5} ?(?P<what>BEGIN|END) [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}"
    r"|(?P<putty>Private-Lines: *[0-9]+)"
    r"|(?m:^|[\s:|'\"])(?P<bare>(?:b3BlbnNzaC1rZXktdjE|MII[BCEJ][A-Za-z0-9+/])[A-Za-z0-9+/]{40,}={0,2})"
)
_BODY = re2.compile(
    r"(?:^|[\s:|'\",>])[A-Za-z0-9+/]{32,}={0,2}[\s'\",\\]*$"
    r"|^[ \t>]*[A-Za-z0-9+/]{0,63}(?:[0-9+/][A-Za-z]|[A-Za-z][0-9+/])[A-Za-z0-9+/]{0,63}={0,2}\s*$"
    r"|^[ \t>]*[A-Za-z0-9+/]{1,64}={1,2}\s*$"
)
_LAST_OF_BODY = re2.compile(r"(?:^|[\s:|'\",>])[A-Za-z0-9+/]{2,64}={0,2}[\s'\",\\]*$")
_HEADER = re2.compile(r"^[ \t>]*(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|MessageID)\b|^[ \t>]*$")
_HINTS = ("PRIVATE KEY", "Private-Lines", "b3BlbnNzaC1rZXktdjE", "MII")
_MOST_LINES, _MOST_BODY, _MOST_IN_LINE = 250, 400, 8192
"""Bounds of a key: its lines, the characters of a line of body, those of a key written in one line."""


def find_private_keys(text: str) -> Iterator[Span]:
    """Yield each private key, marks included."""
    if not any(hint in text for hint in _HINTS):
        return
    done = 0
    for mark in _MARK.finditer(text):
        start, end = mark.span()
        if start < done:
            continue
        if mark.group("what") == "END":
            first = _back(text, start, done)
            if first == start:
                continue
            start = first
        elif mark.group("bare"):
            start = place(mark, "bare")[0]
            if "CERTIFICATE" in text[max(0, start - 60) : start]:
                continue
            end = _forward(text, end)
        else:
            end = _forward(text, end)
        done = end
        yield Span(start, end, "private_key")


def _forward(text: str, end: int) -> int:
    """Where the key that begins before `end` is over: at its END mark, else after its last line of body."""
    newline = text.find("\n", end, end + _MOST_IN_LINE)
    same_line = text[end : min(newline, end + _MOST_IN_LINE) if newline >= 0 else end + _MOST_IN_LINE]
    close = _end_mark(same_line)
    if close >= 0:
        return end + close
    # One line that holds the key's own line ends as "\n" is body to its last character.
    inner = re2.match(r"(?:\\+[nr]|[A-Za-z0-9+/=])*", same_line)
    end += inner.end() if inner is not None else 0
    at = newline
    for _ in range(_MOST_LINES):
        if at < 0:
            break
        newline = text.find("\n", at + 1, at + 2 + _MOST_BODY)
        line = text[at + 1 : newline if newline >= 0 else at + 2 + _MOST_BODY]
        close = _end_mark(line)
        if close >= 0:
            return at + 1 + close
        if len(line) > _MOST_BODY or not (_BODY.search(line) or _HEADER.search(line)):
            after = text[newline + 1 : newline + 1 + _MOST_BODY].partition("\n")[0] if newline >= 0 else ""
            if _end_mark(after) < 0 or not _LAST_OF_BODY.search(line):
                break
        if line.strip():
            end = at + 1 + len(line.rstrip())
        at = newline
    return end


def _back(text: str, start: int, done: int) -> int:
    """Where the body begins whose END mark is at `start`; `start` itself when there is none."""
    first = start
    at = text.rfind("\n", max(done, start - _MOST_BODY), start)
    for _ in range(_MOST_LINES):
        if at < 0:
            break
        earliest = max(done, at - _MOST_BODY)
        previous = text.rfind("\n", earliest, at)
        begin = previous + 1 if previous >= 0 else earliest
        line = text[begin:at]
        if len(line) >= _MOST_BODY or not (_LAST_OF_BODY if first == start else _BODY).search(line):
            break
        first = begin
        at = previous
    inner = text[max(done, start - _MOST_IN_LINE) : start]
    same_line = re2.search(r"(?:[A-Za-z0-9+/=]{16,}(?:\\+[nr])+)+$", inner)
    return min(first, start - len(inner) + same_line.start()) if same_line is not None else first


def _end_mark(line: str) -> int:
    mark = (
        re2.search(r"-{4,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}", line) if "END" in line else None
    )
    return int(mark.end()) if mark is not None else -1


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
