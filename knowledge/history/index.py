"""The reports of one repository so far, and those of them that may show the same failure as a new one.

Records are added in the order in which they were opened; a search sees what was added before it, and word rarities are
those of that moment. Nothing of the future leaks into a figure that is measured in this way.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import faiss
import numpy as np
import numpy.typing as npt

from knowledge.history.record import Record
from knowledge.judging.features import Floats

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

TITLE_COUNTS = 2
"""How often a word of the title counts beside one of the body."""
POOL = 60
"""Reports that each of the six searches finds."""
CLOSE = 100
"""Reports that are compared closely: fewer lose some of the ten nearest on Hadoop (`bot eval duplicates`)."""
_RANK = 60
"""The constant of reciprocal rank fusion (Cormack et al. 2009)."""
_MOST_TIMES = 15
"""Occurrences of a word that are counted; four bits of a posting."""
_WEIGHT = (1 + np.log(np.arange(_MOST_TIMES + 1).clip(1).astype(float))).astype(np.float32)
"""Of a word in a document, by how often it occurs there."""
READ = 250_000
"""Postings that a search reads in full, those of rare words first; commoner words only rank what these find."""
FLAT = 30_000
"""Records up to which a search compares with every vector."""
TELLS = POOL
"""Reports that may have a fact, a signature or a version, for it to be looked up: one of more doesn't choose between
them, and each report that a search names for nothing takes the place of another."""
_GROUP = 16
BY_WORDS, BY_SIGNS = 500, 2_000
"""Records that such a rough search, by rare words or by signs of vectors, hands on to be ranked exactly."""


def all_words(record: Record) -> dict[str, int]:
    """Words of title and body together, those of the title counted twice."""
    return counted_together(record.title, record.body)


def counted_together(title: Mapping[str, int], body: Mapping[str, int]) -> dict[str, int]:
    """The same of the words of a text that no record was made of."""
    total = dict(body)
    for word, times in title.items():
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
        return self._rarity([0 if held is None else len(held) for held in map(self._of.get, words)])

    def _rarity(self, documents: Sequence[int]) -> Array:
        """That of words which so many documents hold."""
        return np.asarray(1 + np.log((1 + len(self)) / (1 + np.array(documents, float))))

    def add(self, counts: Mapping[str, int]) -> None:
        """Add the next document; its length is measured by the rarities of now and kept."""
        place, documents = len(self) << 4, []
        # One look at each word: a restart adds every document again.
        for word, times in counts.items():
            held = self._of.get(word)
            if held is None:
                held = self._of[word] = array("I")
            documents.append(len(held))
            held.append(place | (times if times < _MOST_TIMES else _MOST_TIMES))
        weights = _tf(counts) * self._rarity(documents)
        self._lengths.append(max(math.sqrt(weights @ weights), 1e-9))

    def settle(self) -> None:
        """Measure the length of every document again, by the rarities of now."""
        squares = np.zeros(len(self))
        for held, rarity in zip(self._of.values(), self.rarity(list(self._of)), strict=True):
            packed = np.frombuffer(held, np.uint32)
            squares[packed >> 4] += (rarity * _WEIGHT[packed & _MOST_TIMES]) ** 2
        self._lengths = array("f", np.sqrt(np.maximum(squares, 1e-18)))

    def cosines(self, counts: Mapping[str, int]) -> Floats:
        """The TF-IDF cosine of `counts` with every document, (documents,)."""
        return self._scaled(self._sum(self._terms(counts)))

    def nearest(self, counts: Mapping[str, int], fits: Bools, pool: int) -> Ints:
        """Numbers of the `pool` documents with the highest cosines above zero among those that fit.

        Exact as long as all postings of the words come to READ. Beyond that, documents that share none of the rarer
        words are not seen; they are hardly ever near.
        """
        terms = self._terms(counts)
        if not terms:
            return np.zeros(0, np.int64)
        if sum(len(packed) for packed, _ in terms) <= READ:
            return best(np.where(fits, self._scaled(self._sum(terms)), 0), pool)
        terms.sort(key=lambda term: len(term[0]))
        rare = max(1, int(np.searchsorted(np.cumsum([len(packed) for packed, _ in terms]), READ)))
        rough = self._sum(terms[:rare])
        # Ascending, because looking up neighbours one after the other is several times faster.
        short = np.sort(best(np.where(fits, self._scaled(rough), 0), BY_WORDS))
        scores, wanted = rough[short], short.astype(np.uint32) << 4
        for packed, weight in terms[rare:]:
            found = packed[np.minimum(np.searchsorted(packed, wanted), len(packed) - 1)]
            scores += np.where(found >> 4 == short, weight * _WEIGHT[found & _MOST_TIMES], 0)
        return short[best(scores / np.frombuffer(self._lengths, np.float32)[short], pool)]

    def _scaled(self, scores: Floats) -> Floats:
        return np.asarray(scores / np.frombuffer(self._lengths, np.float32))

    def _terms(self, counts: Mapping[str, int]) -> list[tuple[npt.NDArray[np.uint32], float]]:
        """Postings of each word that some document holds, and what one occurrence adds to its score."""
        rarities, weights = self._weights(counts)
        weights = weights / max(float(np.linalg.norm(weights)), 1e-9) * rarities
        found = ((self._of.get(word), weight) for word, weight in zip(counts, weights, strict=True))
        return [(np.frombuffer(held, np.uint32), weight) for held, weight in found if held is not None]

    def _sum(self, terms: Sequence[tuple[npt.NDArray[np.uint32], float]]) -> Floats:
        # In single precision, a third of the time. Places as the type that numpy indexes with: it converts others more
        # slowly.
        scores = np.zeros(len(self), np.float32)
        for packed, weight in terms:
            weights = np.float32(weight) * _WEIGHT
            scores[(packed >> 4).astype(np.intp)] += weights[(packed & _MOST_TIMES).astype(np.intp)]
        return scores

    def _weights(self, counts: Mapping[str, int]) -> tuple[Array, Array]:
        """Rarity and TF-IDF weight of each word."""
        rarities = self.rarity(list(counts))
        return rarities, _tf(counts) * rarities


def _tf(counts: Mapping[str, int]) -> Array:
    """What a word weighs by how often it occurs."""
    return np.asarray(1 + np.log(np.fromiter(counts.values(), float, len(counts))))


class Facts:
    """Which documents share facts that few have: signatures, entries of the catalogue, exact versions."""

    def __init__(self) -> None:
        self._of: dict[str, array[int]] = {}
        self._count = 0

    def add(self, record: Record) -> None:
        """Add the next document."""
        for fact in facts(record):
            held = self._of.setdefault(fact, array("I"))
            # One that is over the limit stays so, and needs no more places.
            if len(held) <= TELLS:
                held.append(self._count)
        self._count += 1

    def nearest(self, record: Record, fits: Bools, pool: int) -> Ints:
        """Numbers of the `pool` documents whose facts in common are the rarest together, among those that fit.

        Of equal ones the newest first: a failure is mostly reported again while it is fresh.
        """
        found = [held for fact in facts(record) if (held := self._of.get(fact)) and len(held) <= TELLS]
        if not found:
            return np.zeros(0, np.int64)
        sizes = [len(held) for held in found]
        weights = np.repeat(np.log((1 + self._count) / (1 + np.array(sizes))), sizes)
        places, at = np.unique(np.concatenate(found).astype(np.int64), return_inverse=True)
        scores = np.where(fits[places], np.bincount(at, weights), 0)[::-1]
        return np.asarray(places[::-1][_best(scores, pool)], np.int64)


def facts(record: Record) -> Iterator[str]:
    """What a record names that can be the same in another, word for word."""
    yield from (f"signature {id}" for id in record.signatures)
    yield from (f"failure {id}" for id in record.failures)
    yield from (f"{name} {version}" for name, version in record.versions.items())


class Searches:
    """The searches by words: those of title and body, of the titles alone, of the errors; and the one by facts."""

    def __init__(self) -> None:
        self._whole = Postings()
        self._titles = Postings()
        self._errors = Postings()
        self._facts = Facts()

    def rarity(self, words: Sequence[str]) -> Array:
        """Inverse document frequency of each word among whole reports."""
        return self._whole.rarity(words)

    def add(self, record: Record) -> None:
        """Add the next record."""
        self._whole.add(all_words(record))
        self._titles.add(record.title)
        self._errors.add(record.error)
        self._facts.add(record)

    def scores(self, record: Record) -> tuple[Floats, Floats, Floats]:
        """Cosines with every record by each search by words, each (records,)."""
        whole = all_words(record)
        return self._whole.cosines(whole), self._titles.cosines(whole), self._errors.cosines(record.error)

    def by_facts(self, record: Record, fits: Bools, pool: int) -> Ints:
        """The nearest records by facts among those that fit."""
        return self._facts.nearest(record, fits, pool)

    def nearest(self, record: Record, fits: Bools, pool: int) -> tuple[Ints, ...]:
        """The nearest records by each search among those that fit."""
        whole = all_words(record)
        return (
            self._whole.nearest(whole, fits, pool),
            self._titles.nearest(whole, fits, pool),
            self._errors.nearest(record.error, fits, pool),
            self.by_facts(record, fits, pool),
        )


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
        """Records worth a close comparison: the nearest by words, title, error, facts, both vectors; oldest first."""
        return [self.records[n] for n in fused(self.searches(record, pool))] if self.records else []

    def searches(self, record: Record, pool: int = POOL) -> list[Ints]:
        """What each of the six searches finds, best first; the one by facts comes last."""
        near = self._vectors[: len(self)] @ record.vectors.T
        scores = [*self.words.scores(record), near[:, 0, 0], near[:, 1, 1]]
        by_facts = self.words.by_facts(record, np.ones(len(self), bool), pool)
        return [*(best(score, pool) for score in scores), by_facts]


def fused(searches: Iterable[Ints], most: int = CLOSE) -> list[int]:
    """The numbers that stand highest in the searches together, ascending; each search lists its best first."""
    total: defaultdict[int, float] = defaultdict(float)
    for found in searches:
        for rank, number in enumerate(found.tolist()):
            total[number] += 1 / (_RANK + rank)
    return sorted(sorted(total, key=lambda number: (-total[number], number))[:most])


def best(scores: npt.NDArray[np.floating], k: int) -> Ints:
    """Numbers of the `k` highest scores above zero, the highest first."""
    if len(scores) <= FLAT:
        return _best(scores, k)
    # k of the groups' maxima, and so k scores, reach the k-th of these maxima. Few other scores do.
    groups = scores[: len(scores) // _GROUP * _GROUP].reshape(_GROUP, -1).max(axis=0)
    places = np.flatnonzero(scores >= max(np.sort(groups)[-k], np.finfo(scores.dtype).tiny))
    return places[_best(scores[places], k)]


def _best(scores: npt.NDArray[np.floating], k: int) -> Ints:
    top = np.argpartition(-scores, k)[:k] if len(scores) > k else np.arange(len(scores))
    top = top[scores[top] > 0]
    return np.asarray(top[np.argsort(-scores[top], kind="stable")], np.int64)


# The index of a repository that a service answers for: it grows, its records stay in a database, and edits replace.
#
# Kept in memory are postings and vectors in half precision; of what the searches find, the caller fetches the records.
# A small history is compared as a whole, so what is found is exact. In a large one, a rough search comes first: of
# words by the rarer ones, of vectors by the signs of their components. What it finds is then ranked exactly.

_NO_DATE = float("-inf")


class View:
    """One of the two vectors of each record."""

    def __init__(self, dims: int) -> None:
        """Start empty; `dims` is the length of a vector, a multiple of eight."""
        half = faiss.ScalarQuantizer.QT_fp16
        self._whole = faiss.IndexScalarQuantizer(dims, half, faiss.METRIC_INNER_PRODUCT)
        # One bit a component: as good as bits of centred or rotated vectors, and needs no training.
        self._signs = faiss.IndexBinaryFlat(dims)
        # Counting finds 2,000 of them in half the time that a heap takes.
        self._signs.use_heap = False  # type: ignore[attr-defined]

    def add(self, vector: Floats) -> None:
        """Add the next record's."""
        self._whole.add(np.ascontiguousarray(vector, np.float32)[None])
        self._signs.add(np.packbits(vector > 0)[None])

    def nearest(self, vector: Floats, fits: Bools, pool: int) -> Ints:
        """Numbers of the `pool` records with the highest cosines above zero among those that fit."""
        if len(fits) > FLAT:
            _, rough = self._signs.search(np.packbits(vector > 0)[None], BY_SIGNS, params=_among(fits))
            fits = np.zeros(len(fits), bool)
            fits[rough[rough >= 0]] = True
        query = np.ascontiguousarray(vector, np.float32)[None]
        scores, places = self._whole.search(query, pool, params=_among(fits))
        return np.asarray(places[(places >= 0) & (scores > 0)], np.int64)


def _among(fits: Bools) -> faiss.SearchParameters:
    # Bits of the bitmap: least significant first, as FAISS reads them.
    selector = faiss.IDSelectorBitmap(np.packbits(fits, bitorder="little"))  # type: ignore[call-arg,arg-type]
    return faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]


class GrowingIndex:
    """Which ids may be near. Not safe for two threads at once; docs/scale.md says what a record takes."""

    def __init__(self, dims: int) -> None:
        """Start empty; `dims`, a multiple of eight, is the length of one of a record's two vectors."""
        self.words = Searches()
        self._ids: list[str] = []
        self._place: dict[str, int] = {}
        self._opened: npt.NDArray[np.float64] = np.zeros(256)
        self._stale: Bools = np.zeros(256, bool)
        self._views = (View(dims), View(dims))

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
            view.add(vector)

    def candidates(self, record: Record, pool: int = POOL) -> list[str]:
        """Ids worth a close comparison, in the order in which they came: opened no later, and not `record` itself."""
        fits = self._fitting(record)
        if not fits.any():
            return []
        by_vectors = [
            view.nearest(vector, fits, pool) for view, vector in zip(self._views, record.vectors, strict=True)
        ]
        return [self._ids[n] for n in fused([*self.words.nearest(record, fits, pool), *by_vectors])]

    def _fitting(self, record: Record) -> Bools:
        fits = ~self._stale[: len(self)]
        if record.opened is not None:
            fits &= self._opened[: len(self)] <= record.opened.timestamp()
        own = self._place.get(record.id)
        if own is not None:
            fits[own] = False
        return np.asarray(fits, np.bool_)
