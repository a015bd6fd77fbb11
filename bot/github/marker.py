"""The hidden first line of the bot's comment: what it is about, which input it fits, and what was written.

`body` is a hash of the visible text, so that an edit by a person shows in the comment itself.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

import re2

from bot.github.ports import Comment

Kind = Literal["triage", "config"]
_MARKER = re2.compile(r"^<!-- distriage v1 kind=(triage|config) input=([0-9a-f]{64}) body=([0-9a-f]{16}) -->")


@dataclass(frozen=True, slots=True)
class Marker:
    """What a marker says."""

    kind: str
    input_hash: str
    body_hash: str


def with_marker(kind: Kind, input_hash: str, body: str) -> str:
    """The body with its marker in front."""
    return f"<!-- distriage v1 kind={kind} input={input_hash} body={_hash(body)} -->\n{body}"


def read_marker(text: str) -> Marker | None:
    """The marker that a text begins with."""
    found = _MARKER.match(text)
    return Marker(found.group(1), found.group(2), found.group(3)) if found else None


def edited_by_person(text: str) -> bool:
    """Whether a marked text is no longer what its marker says was written."""
    marker = read_marker(text)
    return marker is not None and _hash(text.partition("\n")[2]) != marker.body_hash


def own_comments(comments: list[Comment], login: str, kind: Kind) -> list[Comment]:
    """The comments that are ours by author **and** by marker, oldest first.

    Anybody can copy a marker, and another program may write under the same account: neither alone counts.
    """
    mine = [c for c in comments if c.author == login]
    return [c for c in mine if (m := read_marker(c.body)) is not None and m.kind == kind]


def _hash(body: str) -> str:
    # Blank space aside: GitHub may change line ends and trailing blanks.
    return hashlib.sha256(" ".join(body.split()).encode("utf-8", "replace")).hexdigest()[:16]
