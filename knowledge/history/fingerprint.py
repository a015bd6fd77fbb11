"""From posts to their records, with the known failures that surely apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from knowledge.engine import Knowledge, examine
from knowledge.history.markup import to_markdown
from knowledge.history.record import Post, Record, records_of
from knowledge.report import Report


def fingerprints(posts: Sequence[Post], knowledge: Knowledge, *, with_failures: bool = True) -> list[Record]:
    """The record of each post, in order.

    The catalogue is asked only where the report shows an error: that costs twice what the rest does.
    """
    records = records_of(posts, knowledge.encoder, knowledge.table)
    return [
        replace(record, failures=_failures(post, knowledge))
        if with_failures and _shows_error(record)
        else record
        for post, record in zip(posts, records, strict=True)
    ]


def _shows_error(record: Record) -> bool:
    return bool(record.lines or record.signatures or record.exception)


def _failures(post: Post, knowledge: Knowledge) -> tuple[str, ...]:
    found = examine(Report(post.id, post.title, to_markdown(post.body)), knowledge)
    return tuple(match.failure.id for match in found.matches if match.sure)
