"""The reports that the judge compares with: their numbers, and how alike a new report is to each of them.

Likeness is a Gaussian of the angle between two reports over words and cues together. It lets a head count what
occurs together, which sums of single words cannot. Sentence vectors are not compared here: the encoder has seen
most of these reports, so that theirs would be more telling than a new report's (measured in docs/evaluation.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from knowledge.judging.blocks import SPARSE, Weighting
from knowledge.judging.features import Features, Floats, Sparse

COMPARED = ("words", "cues")
SHARPNESS = 1.5
"""Figures move little between 1 and 4."""
Array = npt.NDArray[np.float64]


def likeness(gram: Array) -> Array:
    """Gaussian of the angle, 1 for the same direction, from inner products (n, n) of the compared blocks."""
    length = np.sqrt(np.maximum(np.diag(gram), 1e-9))
    return _gaussian(gram / np.outer(length, length))


def _gaussian(cosine: Array) -> Array:
    return np.asarray(np.exp(-SHARPNESS * (1 - cosine)))


@dataclass(frozen=True, slots=True)
class Rows:
    """Sparse rows, one behind the other: `row` ascending, `index` the bucket, `weight`; all (entries,)."""

    row: npt.NDArray[np.int32]
    index: npt.NDArray[np.int32]
    weight: Floats

    @classmethod
    def of(cls, rows: Sequence[Sparse]) -> Rows:
        """Put rows together."""
        counts = [len(row.index) for row in rows]
        return cls(
            np.repeat(np.arange(len(rows), dtype=np.int32), counts),
            np.concatenate([row.index for row in rows]),
            np.concatenate([row.weight for row in rows]),
        )

    def dot(self, other: Sparse, buckets: int, count: int) -> Array:
        """Inner products of each of the `count` rows with another row."""
        dense = np.zeros(buckets, np.float32)
        dense[other.index] = other.weight
        return np.bincount(self.row, dense[self.index] * self.weight, minlength=count).astype(np.float64)


class Exemplars:
    """What is kept of the compared reports: `count` of them, their hashed blocks by name."""

    def __init__(self, count: int, rows: Mapping[str, Rows]) -> None:
        self.count = count
        self.rows = rows
        squares = np.zeros(count)
        for block in rows.values():
            squares += np.bincount(block.row, block.weight**2, minlength=count)
        self._length = np.sqrt(np.maximum(squares, 1e-9))

    @classmethod
    def of(cls, items: Sequence[Features], weighting: Weighting) -> Exemplars:
        """Keep these reports."""
        rows = {name: Rows.of([weighting.unit(item, name) for item in items]) for name in COMPARED}
        return cls(len(items), rows)

    def likeness(self, item: Features, weighting: Weighting) -> Array:
        """How alike a report is to each of these: (n,)."""
        products = np.zeros(self.count)
        square = 0.0
        for name, rows in self.rows.items():
            unit = weighting.unit(item, name)
            products += rows.dot(unit, SPARSE[name], self.count)
            square += float(unit.weight @ unit.weight)
        return _gaussian(products / (self._length * np.sqrt(max(square, 1e-9))))
