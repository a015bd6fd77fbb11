"""A made-up tracker whose labels follow from its words."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

from knowledge.history.heads import Example
from knowledge.history.record import Post, Record
from knowledge.history.words import traits_of
from tests.knowledge.history.tiny import made, post

KINDS = {
    "bug": (
        "{part} crashes with a null pointer",
        "It worked before. Now the {part} dies with an error each night.",
    ),
    "feature": (
        "Please support {part} profiles",
        "It would be nice to have an option for the {part} in the settings.",
    ),
    "question": (
        "How can I tune the {part}?",
        "I read the guide. Is there a way to see what the {part} does?",
    ),
}
PARTS = ("parser", "scheduler", "dashboard", "importer", "cache", "logger", "renderer")


@cache
def tracker(count: int, mixed: float = 0.0) -> tuple[tuple[Post, str], ...]:
    """Posts a day apart and their labels; a share `mixed` of the labels is drawn by lot."""
    lot = random.Random(7)
    out = []
    for n in range(count):
        kind = lot.choice(sorted(KINDS))
        part = lot.choice(PARTS)
        title, body = (text.format(part=part) for text in KINDS[kind])
        label = lot.choice(sorted(KINDS)) if lot.random() < mixed else kind
        out.append((post(str(n + 1), f"{title} ({n})", f"{body}\nSeen {n} times.", n), label))
    return tuple(out)


@cache
def examples(count: int, mixed: float = 0.0) -> tuple[Example, ...]:
    """The same as heads see them."""
    posts = tracker(count, mixed)
    return tuple(example(record, [label]) for record, (_, label) in zip(_made(posts), posts, strict=True))


def _made(posts: Sequence[tuple[Post, str]]) -> list[Record]:
    return made([one for one, _ in posts])


def example(record: Record, labels: Sequence[str] = ()) -> Example:
    """A record with its labels."""
    traits = traits_of(record.title, record.body, record.small, record.vectors)
    return Example(record.id, record.opened, traits, frozenset(labels))
