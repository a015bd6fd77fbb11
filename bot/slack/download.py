"""A file of any length, of which both ends are kept: the end of a log says what failed."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

import httpx2

from bot.slack.errors import Refused, Unreachable

MOST = 256_000_000
"""Bytes after which reading stops; what came last is taken for the end."""


@dataclass(frozen=True, slots=True)
class Downloaded:
    """The first bytes of a file, and its last where it has more than those; `cut`: some between are left out."""

    head: bytes
    tail: bytes
    cut: bool


def download(token: str, url: str, each: int, timeout: float) -> Downloaded:
    """At most `each` bytes from either end. Raises `Refused` unless Slack gives the file, `Unreachable`."""
    head, tail, total = bytearray(), bytearray(), 0
    headers = {"Authorization": f"Bearer {token}"}
    try:
        with httpx2.stream("GET", url, headers=headers, timeout=timeout, follow_redirects=False) as answer:
            if answer.status_code != HTTPStatus.OK:
                raise Refused("file_not_readable")
            for chunk in answer.iter_bytes():
                room = each - len(head)
                head += chunk[:room]
                tail += chunk[room:]
                total += len(chunk)
                if len(tail) > 2 * each:
                    del tail[:-each]
                if total > MOST:
                    break
    except httpx2.HTTPError as error:
        raise Unreachable(f"the file was not read: {type(error).__name__}") from error
    last = bytes(tail[-each:])
    return Downloaded(bytes(head), last, total > len(head) + len(last))
