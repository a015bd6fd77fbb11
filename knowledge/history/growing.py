"""The index of a repository that a service answers for: it grows, its records stay in a database, and edits replace.

The searches are those of knowledge/history/index.py. Kept in memory are postings and vectors in half precision; of
what the searches find, the caller fetches the records. Vectors are compared with every one of them (FAISS, flat), so
what is found is exact.
"""

from __future__ import annotations

import faiss
import numpy as np
import numpy.typing as npt

from knowledge.history.index import POOL, Searches, best
from knowledge.history.record import Record

_NO_DATE = float("-inf")


class GrowingIndex:
    """Which ids may be near; about 2 kB a record. Not safe for two threads at once."""

    def __init__(self, dims: int) -> None:
        """Start empty; `dims` is the length of one of a record's two vectors."""
        self.words = Searches()
        self._ids: list[str] = []
        self._place: dict[str, int] = {}
        self._opened: npt.NDArray[np.float64] = np.zeros(256)
        self._stale: npt.NDArray[np.bool_] = np.zeros(256, bool)
        self._views = [
            faiss.IndexScalarQuantizer(dims, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
            for _ in range(2)
        ]

    def __len__(self) -> int:
        """Records held, those counted that a newer one has replaced."""
        return len(self._ids)

    def put(self, record: Record) -> None:
        """Add a record; one with the same id is not found any more."""
        at = len(self._ids)
        if at == len(self._opened):
            self._opened = np.concatenate([self._opened, np.zeros_like(self._opened)])
            self._stale = np.concatenate([self._stale, np.zeros_like(self._stale)])
        if record.id in self._place:
            self._stale[self._place[record.id]] = True
        self._place[record.id] = at
        self._ids.append(record.id)
        self._opened[at] = record.opened.timestamp() if record.opened else _NO_DATE
        self.words.add(record)
        for view, vector in zip(self._views, record.vectors, strict=True):
            view.add(np.ascontiguousarray(vector, np.float32)[None])

    def candidates(self, record: Record, pool: int = POOL) -> list[str]:
        """Ids worth a close comparison, in the order in which they came: opened no later, and not `record` itself."""
        fits = self._fitting(record)
        if not fits.any():
            return []
        found = {int(n) for score in self.words.scores(record) for n in best(np.where(fits, score, 0), pool)}
        # Bits of the bitmap: least significant first, as FAISS reads them.
        selector = faiss.IDSelectorBitmap(np.packbits(fits, bitorder="little"))  # type: ignore[call-arg,arg-type]
        chosen = faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]
        for view, vector in zip(self._views, record.vectors, strict=True):
            query = np.ascontiguousarray(vector, np.float32)[None]
            scores, places = view.search(query, pool, params=chosen)
            found |= {int(n) for n, score in zip(places[0], scores[0], strict=True) if n >= 0 and score > 0}
        return [self._ids[n] for n in sorted(found)]

    def _fitting(self, record: Record) -> npt.NDArray[np.bool_]:
        fits = ~self._stale[: len(self)]
        if record.opened is not None:
            fits &= self._opened[: len(self)] <= record.opened.timestamp()
        own = self._place.get(record.id)
        if own is not None:
            fits[own] = False
        return np.asarray(fits, np.bool_)
