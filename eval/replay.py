"""What would have been shown of a repository's history, forward in time, and what people marked later.

Each report is compared with those that were opened before it, as the service would have done; weights and threshold
are the shipped ones, word rarities those of that moment. A match is right when people marked the two as the same, in
either direction or through others. Trackers leave many unmarked, so precision is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eval.bootstrap import Estimate, share_of
from knowledge.history.index import Index
from knowledge.history.learner import Prediction, fit_threshold
from knowledge.history.record import Record
from knowledge.history.verifier import Near, Weights, nearest


@dataclass(frozen=True, slots=True)
class Replayed:
    """A report and the matches that something speaks for, whatever their probability."""

    record: Record
    group: int
    """Reports that people marked as the same share it."""
    has_earlier: bool
    """An earlier report of its group exists."""
    near: tuple[Near, ...]
    """At most two, best first."""
    marked: tuple[bool, ...]
    """For each of `near`: whether people marked the two as the same."""

    def shown(self, threshold: float) -> list[tuple[Near, bool]]:
        """What is shown at a threshold, and whether people marked it."""
        pairs = zip(self.near, self.marked, strict=True)
        return [(near, right) for near, right in pairs if near.p >= threshold or near.copied]


def replay(
    records: Iterable[Record],
    groups: Sequence[int],
    weights: Weights,
    tick: Callable[[], None] = lambda: None,
) -> list[Replayed]:
    """Go through the records in the order in which they were opened; all are in memory, about 10 kB each."""
    anything = replace(weights, threshold=0.0)
    index: Index | None = None
    seen: dict[int, set[str]] = {}
    out = []
    for record, group in zip(records, groups, strict=True):
        index = index or Index(record.vectors.shape[1])
        near = tuple(one for one in nearest(record, index, anything) if one.shown)
        same = seen.setdefault(group, set())
        marked = tuple(one.record.id in same for one in near)
        out.append(Replayed(record, group, bool(same), near, marked))
        same.add(record.id)
        index.add(record)
        tick()
    return out


@dataclass(frozen=True, slots=True)
class Figures:
    """What a replay comes to at one threshold."""

    reports: int
    with_earlier: int
    """Reports with an earlier one that people marked as the same."""
    commented: int
    """Reports below which something would have been shown."""
    precision: Estimate
    """Of the matches shown, the share that people marked; a lower bound."""
    coverage: Estimate
    """Of the reports with an earlier one, the share that would have been shown a marked one."""


def figures(replayed: Sequence[Replayed], threshold: float) -> Figures:
    """Shares with 95 % intervals; reports of one group are drawn together."""
    shown = [one.shown(threshold) for one in replayed]
    matches = [(right, one.group) for one, pairs in zip(replayed, shown, strict=True) for _, right in pairs]
    earlier = [
        (any(right for _, right in pairs), one.group)
        for one, pairs in zip(replayed, shown, strict=True)
        if one.has_earlier
    ]
    return Figures(len(replayed), len(earlier), sum(map(bool, shown)), _share(matches), _share(earlier))


def own_threshold(replayed: Sequence[Replayed]) -> float | None:
    """The lowest threshold at which 0.90 of the matches are marked; None where fewer than ten are."""
    found = fit_threshold(
        [
            Prediction(
                place=None,
                p=np.array([near.p for near in one.near]),
                same=np.array(one.marked, bool),
                reason=np.ones(len(one.near), bool),
                has_same=one.has_earlier,
            )
            for one in replayed
        ]
    )
    return found if found <= 1 else None


def _share(hits: Sequence[tuple[bool, int]]) -> Estimate:
    return share_of([hit for hit, _ in hits], [group for _, group in hits])
