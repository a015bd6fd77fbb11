"""An export of a tracker with marked duplicates: read, checked, put in order, grouped.

Marks work in both directions and through others: A of B and B of C put A, B and C into one group, since a
tracker names one of several.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from knowledge.errors import InputError, reason
from knowledge.history.record import Post, Record, aware

_SHAPE = '{"id": "7", "opened": "2024-05-01T12:00:00", "title": "...", "body": "...", "duplicates": ["3"]}'


@dataclass(frozen=True, slots=True)
class Tracker:
    """An export in the order in which its reports were opened."""

    posts: tuple[Post, ...]
    group: tuple[int, ...]
    """Number of each post's group; posts that are marked as the same share it."""

    def queries(self) -> dict[int, frozenset[str]]:
        """Position of each post with an earlier one of its group, and the ids of these."""
        earlier: dict[int, list[str]] = {}
        found: dict[int, frozenset[str]] = {}
        for at, (post, group) in enumerate(zip(self.posts, self.group, strict=True)):
            if group in earlier:
                found[at] = frozenset(earlier[group])
            earlier.setdefault(group, []).append(post.id)
        return found


@dataclass(frozen=True, slots=True)
class Line:
    """A record of an export."""

    number: int
    """Of its line, from 1."""
    post: Post
    duplicates: list[str]
    record: Mapping[str, Any]
    """All its fields, for what is not read here."""


def read_tracker(file: Path) -> Tracker:
    """Read an export of JSON lines (.gz or not) and put it in order.

    By `opened`, then by id (numbers by their value). A report without a date stands right after the dated one whose
    id comes before its own. Raises InputError with the line's number for what is no such record.
    """
    posts: dict[str, Post] = {}
    marked: dict[str, list[str]] = {}
    for line in exported(file):
        if line.post.id in posts:
            raise InputError(
                f"{file.name}, line {line.number}: the ID {line.post.id} is already in use.",
                "Remove one of the two records.",
            )
        posts[line.post.id] = line.post
        marked[line.post.id] = line.duplicates
    if not posts:
        raise InputError(f"{file.name} contains no records.", f"Write one JSON object per line: {_SHAPE}")
    ordered = in_order(posts.values())
    return Tracker(tuple(ordered), tuple(groups([post.id for post in ordered], marked)))


def exported(file: Path) -> Iterator[Line]:
    """The records of an export as they come. Raises InputError with the line's number for what is no such record."""
    for number, line in enumerate(_lines(file), start=1):
        if line.strip():
            post, same, record = _parsed(line, f"{file.name}, line {number}")
            yield Line(number, post, same, record)


def _lines(file: Path) -> Iterator[str]:
    opened = gzip.open if file.suffix == ".gz" else open
    try:
        with opened(file, "rt", encoding="utf-8", errors="replace") as lines:
            yield from lines
    except (OSError, EOFError, zlib.error) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise InputError(
            f"Can't read {file}: {why}.",
            "Use a file with one JSON object per line (.jsonl), or a gzipped one (.jsonl.gz).",
        ) from error


def _parsed(line: str, place: str) -> tuple[Post, list[str], Mapping[str, Any]]:
    """The post of a line, the ids that it marks as the same, and the whole record."""
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not valid JSON.", f"Write one object per line: {_SHAPE}") from error
    if not isinstance(record, dict):
        raise InputError(f"{place}: not a JSON object.", f"For example: {_SHAPE}")
    id, same = record.get("id"), record.get("duplicates")
    if isinstance(id, bool) or not isinstance(id, str | int) or id == "":
        raise InputError(f'{place}: "id" must be a string or a number.', f"For example: {_SHAPE}")
    if same is not None and not isinstance(same, list):
        raise InputError(f'{place}: "duplicates" must be a list of IDs.', 'Write [] or ["3", "5"].')
    texts = {name: _text(record, name, place) for name in ("title", "body", "state", "status", "resolution")}
    post = Post(
        str(id),
        texts["title"],
        texts["body"],
        _time(record.get("opened"), place),
        texts["state"] or texts["status"],
        texts["resolution"],
    )
    return post, [str(other) for other in same or ()], record


def _text(record: Mapping[str, Any], name: str, place: str) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(
            f'{place}: "{name}" must be a string.', 'Write it in quotes; use "" or null for none.'
        )
    return value


def _time(value: object, place: str) -> datetime | None:
    if value is None or value == "":
        return None
    try:
        return aware(datetime.fromisoformat(str(value).strip()))
    except ValueError as error:
        raise InputError(
            f'{place}: "opened" isn\'t a date ({str(value)[:40]!r}).',
            'Write it as 2024-05-01 or 2024-05-01T12:00:00Z; use "" or null if unknown.',
        ) from error


def _natural(id: str) -> tuple[tuple[int, int, str], ...]:
    """Parts of an id, numbers by their value: "X-9" before "X-10"."""
    parts = re.split(r"([0-9]+)", id)
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part)


Dated = TypeVar("Dated", Post, Record)


def in_order(posts: Iterable[Dated]) -> list[Dated]:
    """Posts or records in the order in which they were opened, as `read_tracker` says."""
    latest = datetime.min.replace(tzinfo=UTC)
    keys: list[tuple[datetime, tuple[tuple[int, int, str], ...], Dated]] = []
    for post in sorted(posts, key=lambda post: _natural(post.id)):
        latest = post.opened or latest
        keys.append((latest, _natural(post.id), post))
    return [post for *_, post in sorted(keys, key=lambda key: key[:2])]


def groups(ids: Sequence[str], marked: Mapping[str, Sequence[str]]) -> list[int]:
    """Connected groups of ids; marks that lead out of the file count for nothing."""
    of = {id: id for id in ids}

    def root(id: str) -> str:
        while of[id] != id:
            of[id] = of[of[id]]
            id = of[id]
        return id

    for id, others in marked.items():
        for other in others:
            if other in of:
                of[root(other)] = root(id)
    numbers: dict[str, int] = {}
    return [numbers.setdefault(root(id), len(numbers)) for id in ids]
