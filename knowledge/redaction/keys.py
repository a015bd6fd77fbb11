"""Private keys: whole, cut at either end, behind the prefixes of a log, or a body alone."""

from __future__ import annotations

from collections.abc import Iterator

import re2

from knowledge.redaction.span import Span, place

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
