"""Heads of a repository's own labels: linear over a report's traits, calibrated, silent where they are not sure.

Labels that people never set together make a family: its heads and "none of them" share one probability, and the
likeliest is set at most. knowledge/history/head_learner.py fits them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import numpy.typing as npt

from knowledge.history.verifier import sigmoid
from knowledge.history.words import BLOCKS, BUCKETS, Traits, parts_of
from knowledge.judging.features import Floats, Sparse

Array = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]

NEVER = 1.01
_MOST_WORDS = 20_000
"""Of each block, the most frequent ones; the rest are in hardly any issue."""
_RARE = 2


@dataclass(frozen=True, slots=True)
class Example:
    """An issue with what people said of its labels."""

    id: str
    opened: datetime | None
    traits: Traits
    labels: frozenset[str]
    """Those that people set and left on it."""
    unsure: frozenset[str] = frozenset()
    """Those that nobody judged, such as a bot's: they neither teach nor count."""
    given: frozenset[str] = frozenset()
    """Those that came with the report: they teach and do not count, since there was nothing left to set."""
    judged: frozenset[str] | None = None
    """Where people spoke of single labels only: these. None = they went through all, so that one not set is wrong."""
    weight: float = 1.0

    def tells(self, label: str) -> bool:
        """Whether the issue says if the label belongs on such a one."""
        return label not in self.unsure and (self.judged is None or label in self.judged)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words that a set of heads knows, by block: buckets ascending, and inverse document frequencies."""

    buckets: Mapping[str, npt.NDArray[np.int32]]
    idf: Mapping[str, Floats]

    @classmethod
    def of(cls, examples: Sequence[Traits]) -> Vocabulary:
        """Count in how many of them each bucket occurs."""
        buckets, idf = {}, {}
        for name in BLOCKS:
            df = np.zeros(BUCKETS, np.int64)
            for traits in examples:
                df[traits.blocks[name].index] += 1
            known = np.flatnonzero(df >= _RARE)
            if len(known) > _MOST_WORDS:
                known = np.sort(known[np.argsort(-df[known], kind="stable")[:_MOST_WORDS]])
            buckets[name] = known.astype(np.int32)
            idf[name] = (np.log((1 + len(examples)) / (1 + df[known])) + 1).astype(np.float32)
        return cls(buckets, idf)

    @property
    def size(self) -> int:
        """Number of words."""
        return sum(map(len, self.buckets.values()))

    def seen(self, traits: Traits) -> Sparse:
        """Positions and values of what is known of the words; each block has unit length."""
        index, weight, start = [], [], 0
        for name in BLOCKS:
            block, known = traits.blocks[name], self.buckets[name]
            place, there = _places(known, block.index)
            value = block.weight[there] * self.idf[name][place[there]]
            index.append(place[there] + start)
            weight.append(value / (float(np.linalg.norm(value)) or 1.0))
            start += len(known)
        return Sparse(np.concatenate(index).astype(np.int32), np.concatenate(weight).astype(np.float32))

    def places(self, parts: Mapping[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
        """Positions of the buckets that a line accounts for."""
        found, start = [], 0
        for name in BLOCKS:
            place, there = _places(self.buckets[name], parts.get(name, np.zeros(0, np.int64)))
            found.append(place[there] + start)
            start += len(self.buckets[name])
        return np.concatenate(found)


def _places(
    known: npt.NDArray[np.int32], wanted: npt.NDArray[np.integer]
) -> tuple[npt.NDArray[np.int64], Truths]:
    """Where each wanted bucket is among the known ones, and whether it is."""
    place = np.searchsorted(known, wanted)
    place = np.minimum(place, max(len(known) - 1, 0))
    there = known[place] == wanted if len(known) else np.zeros(len(wanted), bool)
    return place, there


@dataclass(frozen=True, slots=True)
class Line:
    """A logistic curve over a score."""

    slope: float
    offset: float

    def p(self, score: Array) -> Array:
        """The probability of each score."""
        return sigmoid(self.slope * score + self.offset)


@dataclass(frozen=True, slots=True)
class Head:
    """One label's head; its score is bias + weights . words + dense . vectors."""

    label: str
    bias: float
    at: npt.NDArray[np.int32] = field(repr=False)
    """Positions in the vocabulary that have a weight, ascending."""
    weights: Floats = field(repr=False)
    dense: Floats = field(repr=False)
    line: Line
    threshold: float
    """The least probability at which the label is set; NEVER = silent."""
    examples: int = 0
    tested: int = 0
    """How often heads of the older issues set it on the newer ones."""
    right: int = 0
    """How often people had set it there, too."""

    @property
    def speaks(self) -> bool:
        """Whether it may set its label."""
        return self.threshold <= 1

    def score(self, seen: Sparse, vectors: Floats) -> float:
        """About 1 where people would set the label and 0 where they would not."""
        return self.bias + float(self._weights(seen.index) @ seen.weight) + float(self.dense @ vectors)

    def moved_by(self, seen: Sparse, places: npt.NDArray[np.int64]) -> float:
        """By how much the words at these places of the vocabulary raise the score."""
        own = np.isin(seen.index, places)
        return float(self._weights(seen.index[own]) @ seen.weight[own])

    def _weights(self, positions: npt.NDArray[np.integer]) -> Floats:
        place, there = _places(self.at, positions)
        return np.where(there, self.weights[place] if len(self.at) else 0, 0).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Family:
    """Heads of labels that exclude each other; often it is one."""

    vocabulary: Vocabulary = field(repr=False)
    heads: tuple[Head, ...]
    rest: Line
    """Of what their scores leave to 1: none of the labels."""
    through: datetime | None = None
    """When the newest issue that it learned from was opened."""

    @property
    def labels(self) -> frozenset[str]:
        """The labels."""
        return frozenset(head.label for head in self.heads)

    def p(self, seen: Sparse, vectors: Floats) -> Array:
        """How probable each label is, (heads,); together with none of them 1."""
        scores = np.array([[head.score(seen, vectors) for head in self.heads]])
        return np.asarray(among([head.line for head in self.heads], self.rest, scores)[0])


def among(lines: Sequence[Line], rest: Line, scores: Array) -> Array:
    """Probabilities (n, labels) of scores (n, labels) of labels that exclude each other."""
    p = np.column_stack([line.p(scores[:, n]) for n, line in enumerate(lines)])
    return np.asarray(p / (p.sum(1) + rest.p(1 - scores.sum(1)))[:, None])


@dataclass(frozen=True, slots=True)
class Suggested:
    """A label that its head would set."""

    family: Family
    head: Head
    p: float

    def moved_by(self, traits: Traits, lines: Sequence[str]) -> list[float]:
        """By how much each line of the report, the title first, speaks for the label."""
        vocabulary = self.family.vocabulary
        seen = vocabulary.seen(traits)
        parts = (parts_of(line, in_title=not n) for n, line in enumerate(lines))
        return [self.head.moved_by(seen, vocabulary.places(part)) for part in parts]


def suggest(families: Sequence[Family], traits: Traits) -> list[Suggested]:
    """The labels that heads set on a report, likeliest first; of a family one at most."""
    seen: dict[int, Sparse] = {}
    told = []
    for family in families:
        key = id(family.vocabulary)
        if key not in seen:
            seen[key] = family.vocabulary.seen(traits)
        p = family.p(seen[key], traits.vectors)
        best = int(p.argmax())
        if p[best] >= family.heads[best].threshold:
            told.append(Suggested(family, family.heads[best], float(p[best])))
    return sorted(told, key=lambda one: -one.p)
