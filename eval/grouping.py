"""Which records must never be parted by a split: tellings of one issue, and near-duplicates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from knowledge.training.items import Prepared
from knowledge.training.leakage import minima, near_duplicates


def groups_of(records: Sequence[Prepared]) -> list[str]:
    """A group name for each record: the least issue id among all that hang together with it.

    Two records hang together when they have the same issue id, whatever its case, or nearly the same text.
    """
    parent = list(range(len(records)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    first_of: dict[str, int] = {}
    for at, record in enumerate(records):
        parent[root(at)] = root(first_of.setdefault(record.record.group, at))
    if records:
        for one, other in near_duplicates(np.stack([minima(record.reading) for record in records])):
            parent[root(one)] = root(other)
    names: dict[int, str] = {}
    for at, record in enumerate(records):
        top = root(at)
        names[top] = min(names.get(top, record.record.group), record.record.group)
    return [names[root(at)] for at in range(len(records))]
