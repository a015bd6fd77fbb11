"""What would have been shown of a repository's history, forward in time, and what people marked later.

Each report is compared with those that were opened before it, as the service would have done; weights and threshold
are the shipped ones, word rarities those of that moment. A match is right when people marked the two as the same, in
either direction or through others. Trackers leave many unmarked, so precision is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from eval.bootstrap import Estimate, share_of
from knowledge.history.index import Index
from knowledge.history.record import Record
from knowledge.history.verifier import Near, Weights, nearest


@dataclass(frozen=True, slots=True)
class Replayed:
    """A report and what would have been shown below it."""

    record: Record
    group: int
    """Reports that people marked as the same share it."""
    has_earlier: bool
    """An earlier report of its group exists."""
    shown: tuple[Near, ...]
    marked: tuple[bool, ...]
    """For each of `shown`: whether people marked the two as the same."""


def replay(
    records: Iterable[Record],
    groups: Sequence[int],
    weights: Weights,
    tick: Callable[[], None] = lambda: None,
) -> list[Replayed]:
    """Go through the records in the order in which they were opened; all are in memory, about 10 kB each."""
    index: Index | None = None
    seen: dict[int, set[str]] = {}
    out = []
    for record, group in zip(records, groups, strict=True):
        index = index or Index(record.vectors.shape[1])
        shown = tuple(one for one in nearest(record, index, weights) if one.shown)
        same = seen.setdefault(group, set())
        marked = tuple(one.record.id in same for one in shown)
        out.append(Replayed(record, group, bool(same), shown, marked))
        same.add(record.id)
        index.add(record)
        tick()
    return out


@dataclass(frozen=True, slots=True)
class Figures:
    """What a replay comes to."""

    reports: int
    with_earlier: int
    """Reports with an earlier one that people marked as the same."""
    commented: int
    """Reports below which something would have been shown."""
    precision: Estimate
    """Of the matches shown, the share that people marked; a lower bound."""
    coverage: Estimate
    """Of the reports with an earlier one, the share that would have been shown a marked one."""


def figures(replayed: Sequence[Replayed]) -> Figures:
    """Shares with 95 % intervals; reports of one group are drawn together."""
    matches = [(right, one.group) for one in replayed for right in one.marked]
    earlier = [one for one in replayed if one.has_earlier]
    return Figures(
        len(replayed),
        len(earlier),
        sum(bool(one.shown) for one in replayed),
        _share([right for right, _ in matches], [group for _, group in matches]),
        _share([any(one.marked) for one in earlier], [one.group for one in earlier]),
    )


def _share(hits: Sequence[bool], groups: Sequence[int]) -> Estimate:
    return share_of(hits, np.unique(groups, return_inverse=True)[1].astype(np.int64))
