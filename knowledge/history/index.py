"""The reports of one repository so far, and those of them that may show the same failure as a new one.

Records are added in the order in which they were opened; a search sees what was added before it, and word rarities are
those of that moment. Nothing of the future leaks into a figure that is measured in this way.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

import faiss
import numpy as np
import numpy.typing as npt

from knowledge.history.record import Record
from knowledge.judging.features import Floats

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TITLE_COUNTS = 2
"""How often a word of the title counts beside one of the body."""
POOL = 60
"""Reports that each of the five searches gives to be compared closely."""
_MOST_TIMES = 15
"""Occurrences of a word that are counted; four bits of a posting."""


def all_words(record: Record) -> dict[str, int]:
    """Words of title and body together, those of the title counted twice."""
    total = dict(record.body)
    for word, times in record.title.items():
        total[word] = total.get(word, 0) + TITLE_COUNTS * times
    return total


class Postings:
    """Which documents hold a word, and how often; documents are added one by one."""

    def __init__(self) -> None:
        self._of: dict[str, array[int]] = {}
        self._lengths = array("f")

    def __len__(self) -> int:
        """Number of documents."""
        return len(self._lengths)

    def rarity(self, words: Sequence[str]) -> Array:
        """Smoothed inverse document frequency of each word among the documents so far."""
        found = [len(held) if (held := self._of.get(word)) is not None else 0 for word in words]
        return np.asarray(1 + np.log((1 + len(self)) / (1 + np.array(found, float))))

    def add(self, counts: Mapping[str, int]) -> None:
        """Add the next document; its length is measured by the rarities of now and kept."""
        document = len(self)
        _, weights = self._weights(counts)
        self._lengths.append(max(float(np.linalg.norm(weights)), 1e-9))
        for word, times in counts.items():
            self._of.setdefault(word, array("I")).append(document << 4 | min(times, _MOST_TIMES))

    def settle(self) -> None:
        """Measure the length of every document again, by the rarities of now."""
        squares = np.zeros(len(self))
        for held, rarity in zip(self._of.values(), self.rarity(list(self._of)), strict=True):
            packed = np.frombuffer(held, np.uint32)
            squares[packed >> 4] += (rarity * (1 + np.log((packed & _MOST_TIMES).astype(float)))) ** 2
        self._lengths = array("f", np.sqrt(np.maximum(squares, 1e-18)))

    def cosines(self, counts: Mapping[str, int]) -> Array:
        """The TF-IDF cosine of `counts` with every document, (documents,)."""
        scores = np.zeros(len(self))
        rarities, weights = self._weights(counts)
        weights = weights / max(float(np.linalg.norm(weights)), 1e-9)
        for word, weight, rarity in zip(counts, weights, rarities, strict=True):
            held = self._of.get(word)
            if held is not None:
                packed = np.frombuffer(held, np.uint32)
                times = 1 + np.log((packed & _MOST_TIMES).astype(float))
                scores[packed >> 4] += weight * rarity * times
        return scores / np.frombuffer(self._lengths, np.float32)

    def _weights(self, counts: Mapping[str, int]) -> tuple[Array, Array]:
        """Rarity and TF-IDF weight of each word."""
        rarities = self.rarity(list(counts))
        return rarities, (1 + np.log(np.fromiter(counts.values(), float, len(counts)))) * rarities


class Searches:
    """The searches by words: those of title and body, of the titles alone, of the errors."""

    def __init__(self) -> None:
        self._whole = Postings()
        self._titles = Postings()
        self._errors = Postings()

    def rarity(self, words: Sequence[str]) -> Array:
        """Inverse document frequency of each word among whole reports."""
        return self._whole.rarity(words)

    def add(self, record: Record) -> None:
        """Add the next record."""
        self._whole.add(all_words(record))
        self._titles.add(record.title)
        self._errors.add(record.error)

    def scores(self, record: Record) -> tuple[Array, Array, Array]:
        """Cosines with every record by each search, each (records,)."""
        whole = all_words(record)
        return self._whole.cosines(whole), self._titles.cosines(whole), self._errors.cosines(record.error)


class Index:
    """Records in the order in which they were opened, in memory; about 10 kB a record (docs/history.md)."""

    def __init__(self, dims: int) -> None:
        """Start empty; `dims` is the length of one of a record's two vectors."""
        self.records: list[Record] = []
        self.words = Searches()
        self._vectors: Floats = np.zeros((256, 2, dims), np.float32)

    def __len__(self) -> int:
        """Number of records."""
        return len(self.records)

    def add(self, record: Record) -> None:
        """Add a record that was opened after those that are here."""
        if len(self) == len(self._vectors):
            self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        self._vectors[len(self)] = record.vectors
        self.records.append(record)
        self.words.add(record)

    def candidates(self, record: Record, pool: int = POOL) -> list[Record]:
        """Records worth a close comparison: the nearest by words, title, error and both vectors; oldest first."""
        if not self.records:
            return []
        near = self._vectors[: len(self)] @ record.vectors.T
        scores = [*self.words.scores(record), near[:, 0, 0], near[:, 1, 1]]
        chosen = sorted({int(n) for score in scores for n in best(score, pool)})
        return [self.records[n] for n in chosen]


def best(scores: npt.NDArray[np.floating], k: int) -> Ints:
    """Numbers of the `k` highest scores above zero."""
    top = np.argpartition(-scores, k)[:k] if len(scores) > k else np.arange(len(scores))
    return np.asarray(top[scores[top] > 0], np.int64)


# The index of a repository that a service answers for: it grows, its records stay in a database, and edits replace.
#
# The searches are those of knowledge/history/index.py. Kept in memory are postings and vectors in half precision; of
# what the searches find, the caller fetches the records. Vectors are compared with every one of them (FAISS, flat),
# so what is found is exact.

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
