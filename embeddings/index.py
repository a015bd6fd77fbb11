"""Vectors to the keys nearest to a query, by inner product (FAISS); a key may have several vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

EXACT_UP_TO = 100_000
"""Vectors searched exhaustively (17 ms at this size on 2 cores); more are searched by cells (IVF)."""
_SHARE_OF_CELLS = 8
"""One cell in so many is searched."""


class VectorIndex:
    """Rows of unit length, each belonging to a key; a case has one row for each view of it.

    Searching is thread-safe. FAISS is imported with the first index (50 ms, 20 MB), not with this module.
    """

    def __init__(self, keys: Sequence[str], faiss_index: Any) -> None:
        """Wrap a FAISS index whose row i belongs to keys[i]; `build` is the way to make a new one."""
        self.keys = tuple(keys)
        self.faiss_index = faiss_index
        self._views = max(Counter(self.keys).values(), default=1)

    @classmethod
    def build(cls, keys: Sequence[str], vectors: Floats, exact_up_to: int = EXACT_UP_TO) -> VectorIndex:
        """Index `vectors`, float32 (len(keys), dims), each of unit length; ValueError on other shapes."""
        import faiss

        if vectors.ndim != 2 or len(keys) != len(vectors):
            raise ValueError(f"{len(keys)} keys do not fit vectors of shape {vectors.shape}")
        dims = vectors.shape[1]
        index: Any = faiss.IndexFlatIP(dims)
        if len(keys) > exact_up_to:
            cells = int(4 * len(keys) ** 0.5)
            index = faiss.IndexIVFFlat(index, dims, cells, faiss.METRIC_INNER_PRODUCT)
            index.nprobe = -(-cells // _SHARE_OF_CELLS)
            index.train(vectors)
        index.add(np.ascontiguousarray(vectors, dtype=np.float32))
        return cls(keys, index)

    def __len__(self) -> int:
        """Number of vectors."""
        return len(self.keys)

    @property
    def dims(self) -> int:
        """Length of a vector."""
        return int(self.faiss_index.d)

    def search(self, query: Floats, k: int) -> list[tuple[str, float]]:
        """Return the `k` nearest keys to `query` (dims,), nearest first, each with the score of its best row.

        The score is the cosine when all vectors have unit length; equal scores keep the order of the rows.
        """
        # The k best keys own the k * views best rows at most.
        rows = min(k * self._views, len(self))
        if rows <= 0:
            return []
        scores, found = self.faiss_index.search(np.asarray(query, dtype=np.float32).reshape(1, -1), rows)
        best: dict[str, float] = {}
        hits = (
            (-score, row)
            for score, row in zip(scores[0].tolist(), found[0].tolist(), strict=True)
            if row >= 0
        )
        for negative, row in sorted(hits):
            best.setdefault(self.keys[row], -negative)
        return list(best.items())[:k]

    def vectors(self) -> Floats:
        """Return a copy of all vectors, float32 (len(self), dims), in the order of `keys`."""
        if hasattr(self.faiss_index, "make_direct_map"):
            self.faiss_index.make_direct_map()
        copied: Floats = self.faiss_index.reconstruct_n(0, len(self))
        return copied
