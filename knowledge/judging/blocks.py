"""Features as matrices, the reports that the judge compares with, and such arrays in one file."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from knowledge.judging.features import BUCKETS as FORM_BUCKETS
from knowledge.judging.features import CUE_BUCKETS, WORD_BUCKETS, Features, Floats, Sparse

# Named arrays in one file.


def write_arrays(file: Path, arrays: dict[str, Any]) -> None:
    """Write named arrays as .npz, uncompressed; the same arrays give the same bytes.

    Inflating them would take 0.05 s at every start, and wheel, image and git compress them anyway.
    """
    # numpy.savez stamps the time into the archive; training twice must give the same bytes.
    with zipfile.ZipFile(file, "w") as archive:
        for name in sorted(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(arrays[name]), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), buffer.getvalue())


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


OFTEN = 100
"""A column that more rows use than this is multiplied densely; a rarer one pair by pair."""


def sparse_gram(rows: Sequence[Sparse], width: int) -> Gram:
    """Gram matrix of sparse rows. Most columns are of few rows, so that no dense copy of all is needed."""
    row = np.repeat(np.arange(len(rows)), [len(one.index) for one in rows])
    column = np.concatenate([one.index for one in rows])
    weight = np.concatenate([one.weight for one in rows])
    count = np.bincount(column, minlength=width)
    place = np.cumsum(count > OFTEN) - 1
    often = count[column] > OFTEN
    dense = np.zeros((len(rows), int((count > OFTEN).sum())), np.float32)
    dense[row[often], place[column[often]]] = weight[often]
    gram = (dense @ dense.T).astype(np.float64)
    order = np.argsort(column[~often], kind="stable")
    row, weight = row[~often][order], weight[~often][order]
    ends = np.cumsum(count[(count > 0) & (count <= OFTEN)])
    for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=False):
        r, w = row[start:end], weight[start:end]
        gram[r[:, None], r] += w[:, None] * w
    return gram


# The reports that the judge compares with: their numbers, and how alike a new report is to each of them.
#
# Likeness is a Gaussian of the angle between two reports over words and cues together. It lets a head count what
# occurs together, which sums of single words cannot. Sentence vectors are not compared here: the encoder has seen
# most of these reports, so that theirs would be more telling than a new report's (measured in docs/evaluation.md).

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
class Columns:
    """Sparse rows, kept by bucket: the entries of bucket b lie from starts[b] to starts[b + 1], by row.

    A report holds some hundred buckets of 32,768, so that a hundredth of the entries is looked at.
    """

    starts: npt.NDArray[np.int64]
    row: npt.NDArray[np.uint16]
    weight: Floats

    @classmethod
    def of(cls, rows: Sequence[Sparse], buckets: int) -> Columns:
        """Put rows together."""
        index = np.concatenate([row.index for row in rows])
        order = np.argsort(index, kind="stable")
        row = np.repeat(np.arange(len(rows), dtype=np.uint16), [len(row.index) for row in rows])
        weight = np.concatenate([row.weight for row in rows])
        return cls.counted(np.bincount(index, minlength=buckets), row[order], weight[order])

    @classmethod
    def counted(cls, counts: npt.NDArray[Any], row: npt.NDArray[np.uint16], weight: Floats) -> Columns:
        """From the number of entries in each bucket."""
        return cls(np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]), row, weight)

    def dot(self, other: Sparse, count: int) -> Array:
        """Inner products of each of the `count` rows with another row."""
        lengths = self.starts[other.index + 1] - self.starts[other.index]
        ends = np.cumsum(lengths)
        places = np.arange(lengths.sum()) + np.repeat(self.starts[other.index] - (ends - lengths), lengths)
        products = np.repeat(other.weight, lengths) * self.weight[places]
        return np.bincount(self.row[places], products, minlength=count).astype(np.float64)

    def squares(self, count: int) -> Array:
        """The squared length of each of the `count` rows."""
        return np.bincount(self.row, self.weight**2, minlength=count).astype(np.float64)


class Exemplars:
    """What is kept of the compared reports: `count` of them, their hashed blocks by name."""

    def __init__(self, count: int, blocks: Mapping[str, Columns]) -> None:
        self.count = count
        self.blocks = blocks
        squares = sum((block.squares(count) for block in blocks.values()), np.zeros(count))
        self._length = np.sqrt(np.maximum(squares, 1e-9))

    @classmethod
    def of(cls, items: Sequence[Features], weighting: Weighting) -> Exemplars:
        """Keep these reports."""
        blocks = {
            name: Columns.of([weighting.unit(item, name) for item in items], SPARSE[name])
            for name in COMPARED
        }
        return cls(len(items), blocks)

    def likeness(self, item: Features, weighting: Weighting) -> Array:
        """How alike a report is to each of these: (n,)."""
        products = np.zeros(self.count)
        square = 0.0
        for name, block in self.blocks.items():
            unit = weighting.unit(item, name)
            products += block.dot(unit, self.count)
            square += float(unit.weight @ unit.weight)
        return _gaussian(products / (self._length * np.sqrt(max(square, 1e-9))))
