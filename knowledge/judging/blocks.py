"""Blocks of features as matrices: inverse document frequency, unit length, and the sum of their kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from knowledge.judging.features import BUCKETS as FORM_BUCKETS
from knowledge.judging.features import CUE_BUCKETS, WORD_BUCKETS, Features, Floats, Sparse

FORM = ("title", "text", "lines")
LINEAR_BLOCKS = ("cues", *FORM)
"""Hashed blocks of the linear heads, beside the vectors."""
SPARSE: Mapping[str, int] = {
    "words": WORD_BUCKETS,
    "cues": CUE_BUCKETS,
    **dict.fromkeys(FORM, FORM_BUCKETS),
}
"""Hashed blocks and their number of buckets."""
Gram = npt.NDArray[np.float64]
RARE = 3
"""A feature of fewer training reports than this is noise and would bloat the weights."""


@dataclass(frozen=True, slots=True)
class Weighting:
    """Inverse document frequencies of the hashed blocks: float32 (buckets,), 0 where a feature is too rare."""

    idf: Mapping[str, Floats]

    @classmethod
    def of(cls, items: Sequence[Features]) -> Weighting:
        """Count in how many of the items each feature occurs."""
        idf = {}
        for name, buckets in SPARSE.items():
            df = np.zeros(buckets, np.int64)
            for item in items:
                df[_block(item, name).index] += 1
            smooth = np.log((1 + len(items)) / (1 + df)) + 1
            idf[name] = np.where(df >= RARE, smooth, 0).astype(np.float32)
        return cls(idf)

    def unit(self, item: Features, name: str) -> Sparse:
        """The block of an item, weighted and of unit length (empty when nothing of it is known)."""
        block = _block(item, name)
        weight = block.weight * self.idf[name][block.index]
        keep = weight > 0
        norm = float(np.linalg.norm(weight)) or 1.0
        return Sparse(block.index[keep], (weight[keep] / norm).astype(np.float32))


def _block(item: Features, name: str) -> Sparse:
    block: Sparse = getattr(item, name)
    return block


def gram_of(items: Sequence[Features], weighting: Weighting, name: str) -> Gram:
    """Cosines between items in one block ("vectors": the sum over both views): float64 (n, n)."""
    if name == "vectors":
        vectors = np.stack([item.vectors for item in items])
        return np.asarray(vectors @ vectors.T, np.float64)
    rows = [weighting.unit(item, name) for item in items]
    # Most buckets are empty or too rare to count; only the used ones get a column.
    column = np.full(SPARSE[name], -1, np.int64)
    used = np.flatnonzero(weighting.idf[name])
    column[used] = np.arange(len(used))
    return sparse_gram([Sparse(column[row.index].astype(np.int32), row.weight) for row in rows], len(used))


def sparse_gram(rows: Sequence[Sparse], width: int, step: int = 4096) -> Gram:
    """Gram matrix of sparse rows, a slice of the columns at a time so that no dense copy of all is needed."""
    gram = np.zeros((len(rows), len(rows)))
    for start in range(0, width, step):
        dense = np.zeros((len(rows), step), np.float32)
        for number, row in enumerate(rows):
            low, high = np.searchsorted(row.index, (start, start + step))
            dense[number, row.index[low:high] - start] = row.weight[low:high]
        gram += dense @ dense.T
    return gram
