"""Two reports compared: the numbers that tell whether they show the same failure, and what they have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from knowledge.history.index import all_words
from knowledge.history.record import Record

Array = npt.NDArray[np.float64]

NAMES = ("words", "title", "errors", "frames", "near", "age")
"""Columns of `compare`, in order."""
_UNKNOWN_AGE = 90.0
"""Days taken for a pair where a date is missing: the median of pairs in tracker exports is of this order."""
_SHOWN = 3


class Rarities(Protocol):
    """How rare words are in a repository; `Postings` in memory, a table of counts in a database."""

    def rarity(self, words: Sequence[str]) -> Array:
        """Inverse document frequency of each word."""
        ...


def compare(record: Record, others: Sequence[Record], rarities: Rarities) -> Array:
    """Numbers of the pairs of `record` with each of `others`, float (len(others), len(NAMES)).

    words, errors, frames: cosines of TF-IDF weights of the whole reports, of their error lines, of their innermost
    stacks. title: how well the title of one is found in the other, whichever way it is found better: reporters put
    into the text what another makes the title. near: cosine of the sentence vectors of the accounts.
    age: -log(1 + days between the two), since most are reported again while the failure is fresh.
    """
    whole, wholes = all_words(record), [all_words(other) for other in others]
    near = np.array([other.vectors[1] @ record.vectors[1] for other in others])
    frames, stacks = dict.fromkeys(record.frames, 1), [dict.fromkeys(other.frames, 1) for other in others]
    errors = [other.error for other in others]
    weights = _Weights(rarities, [whole, record.error, *wholes, *errors])
    columns = (
        weights.cosines(whole, wholes),
        np.maximum(
            weights.cosines(whole, [other.title for other in others]), weights.cosines(record.title, wholes)
        ),
        weights.cosines(record.error, errors),
        _Weights(_Even(), [frames, *stacks]).cosines(frames, stacks),
        near,
        np.array([-np.log1p(_days(record, other)) for other in others]),
    )
    return np.stack([np.asarray(column, float) for column in columns], axis=1)


def _days(record: Record, other: Record) -> float:
    if record.opened is None or other.opened is None:
        return _UNKNOWN_AGE
    return abs((record.opened - other.opened).total_seconds()) / 86_400


class _Even:
    """Every word is as rare as the next."""

    def rarity(self, words: Sequence[str]) -> Array:
        return np.ones(len(words))


class _Weights:
    """TF-IDF cosines over the words that occur in one comparison."""

    def __init__(self, rarities: Rarities, texts: Sequence[Mapping[str, int]]) -> None:
        words = list(dict.fromkeys(word for text in texts for word in text))
        self._number = {word: n for n, word in enumerate(words)}
        self._rarity = rarities.rarity(words)

    def _weighed(self, text: Mapping[str, int]) -> tuple[npt.NDArray[np.int64], Array]:
        numbers = np.fromiter((self._number[word] for word in text), np.int64, len(text))
        weights = (1 + np.log(np.fromiter(text.values(), float, len(text)))) * self._rarity[numbers]
        return numbers, weights / max(float(np.linalg.norm(weights)), 1e-9)

    def cosines(self, text: Mapping[str, int], others: Sequence[Mapping[str, int]]) -> Array:
        own = np.zeros(len(self._number))
        numbers, weights = self._weighed(text)
        own[numbers] = weights
        out = np.zeros(len(others))
        for n, other in enumerate(others):
            numbers, weights = self._weighed(other)
            out[n] = own[numbers] @ weights
        return out


@dataclass(frozen=True, slots=True)
class Shared:
    """What two reports have in common, as data: a surface makes its sentence of it."""

    signatures: tuple[str, ...]
    failures: tuple[str, ...]
    """Entries of the catalogue that apply to both."""
    exception: str
    line: str
    """An error line that both show, numbers as 0; "" = none."""
    frames: tuple[str, ...]
    """Frames of both innermost stacks, innermost first; at most three."""
    innermost: bool
    """The innermost frame itself is the same."""
    versions: Mapping[str, str]
    """Components that both run in the same version."""
    differ: Mapping[str, tuple[str, str]]
    """Components that both name in different versions: this report's, the other's."""
    words: tuple[str, ...]
    """The rarest words of both, where nothing better is shared; at most three."""
    state: str
    """The other's, as its tracker says it."""
    resolution: str


def shared(record: Record, other: Record, rarities: Rarities) -> Shared:
    """Say what `record` and the earlier `other` have in common."""
    theirs = set(other.frames)
    frames = tuple(frame for frame in record.frames if frame in theirs)
    both = [name for name in record.versions if name in other.versions]
    same = {name: record.versions[name] for name in both if record.versions[name] == other.versions[name]}
    mine = all_words(record)
    common = sorted(word for word in all_words(other) if word in mine and any(map(str.isalpha, word)))
    rare = np.argsort(-rarities.rarity(common), kind="stable")[:_SHOWN]
    return Shared(
        signatures=tuple(id for id in record.signatures if id in other.signatures),
        failures=tuple(id for id in record.failures if id in other.failures),
        exception=record.exception if record.exception == other.exception else "",
        line=next((line for line in record.lines if line in other.lines), ""),
        frames=frames[:_SHOWN],
        innermost=bool(frames) and record.frames[0] == other.frames[0],
        versions=same,
        differ={name: (record.versions[name], other.versions[name]) for name in both if name not in same},
        words=tuple(common[n] for n in rare),
        state=other.state,
        resolution=other.resolution,
    )
