"""Vectors to the keys nearest to a query, by inner product; a key may have several vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

EXACT_UP_TO = 100_000
"""Vectors searched exhaustively (17 ms at this size on 2 cores); more are searched by FAISS in cells (IVF)."""
_SHARE_OF_CELLS = 8
"""One cell in so many is searched."""


class VectorIndex:
    """Rows of unit length, each belonging to a key; a case has one row for each view of it.

    Searching is thread-safe. FAISS is imported with the first large index (50 ms, 20 MB), not with this module.
    """

    def __init__(self, keys: Sequence[str], vectors: Floats, cells: Any = None) -> None:
        """Index `vectors`, whose row i belongs to keys[i]; `cells` is a FAISS index over them. `build` makes one."""
        self.keys = tuple(keys)
        self.vectors = vectors
        self._cells = cells
        self._views = max(Counter(self.keys).values(), default=1)

    @classmethod
    def build(cls, keys: Sequence[str], vectors: Floats, exact_up_to: int = EXACT_UP_TO) -> VectorIndex:
        """Index `vectors`, float32 (len(keys), dims), each of unit length; ValueError on other shapes."""
        if vectors.ndim != 2 or len(keys) != len(vectors):
            raise ValueError(f"{len(keys)} keys do not fit vectors of shape {vectors.shape}")
        rows = np.ascontiguousarray(vectors, dtype=np.float32)
        return cls(keys, rows, _in_cells(rows) if len(keys) > exact_up_to else None)

    def __len__(self) -> int:
        """Number of vectors."""
        return len(self.keys)

    @property
    def dims(self) -> int:
        """Length of a vector."""
        return int(self.vectors.shape[1])

    def search(self, query: Floats, k: int) -> list[tuple[str, float]]:
        """Return the `k` nearest keys to `query` (dims,), nearest first, each with the score of its best row.

        The score is the cosine when all vectors have unit length; equal scores keep the order of the rows.
        """
        # The k best keys own the k * views best rows at most.
        rows = min(k * self._views, len(self))
        if rows <= 0:
            return []
        best: dict[str, float] = {}
        for row, score in self._nearest(np.asarray(query, dtype=np.float32), rows):
            best.setdefault(self.keys[row], score)
        return list(best.items())[:k]

    def _nearest(self, query: Floats, count: int) -> list[tuple[int, float]]:
        """That many rows with their scores, the best first."""
        if self._cells is None:
            scores = self.vectors @ query
            order = np.argsort(-scores, kind="stable")[:count].tolist()
            return [(row, float(scores[row])) for row in order]
        found_scores, found = self._cells.search(query.reshape(1, -1), count)
        hits = zip(found[0].tolist(), found_scores[0].tolist(), strict=True)
        return sorted(((row, score) for row, score in hits if row >= 0), key=lambda hit: (-hit[1], hit[0]))


def _in_cells(vectors: Floats) -> Any:
    import faiss

    dims, cells = vectors.shape[1], int(4 * len(vectors) ** 0.5)
    index: Any = faiss.IndexIVFFlat(faiss.IndexFlatIP(dims), dims, cells, faiss.METRIC_INNER_PRODUCT)
    index.nprobe = -(-cells // _SHARE_OF_CELLS)
    index.train(vectors)
    index.add(vectors)
    return index
