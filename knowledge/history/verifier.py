"""Ranking earlier reports, and how probable it is that the nearest show the same failure.

Two small linear models over the numbers of a pair (knowledge/history/verifier.py). Their weights ship in weights.json;
`python -m knowledge.training.history` fits them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from knowledge.errors import ModelError
from knowledge.history.index import Index, all_words
from knowledge.history.record import Record

# Two reports compared: the numbers that tell whether they show the same failure, and what they have in common.

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


SHIPPED = Path(__file__).parent / "weights.json"
VERIFIED = ("one", *NAMES, "score", "lead")
"""What the verifier sees of a pair: 1, its numbers, its rank score, and by how much that leads over the next best."""
SAME_ERROR = 0.3
"""Likeness of the error lines from which on two reports show one error."""
COPIED = 0.97
"""Likeness of both the whole reports and their error lines from which on one is a copy of the other."""
SHOWN = 2
"""Matches shown at most."""
_REMEDY = "Install distriage again, or run: python -m knowledge.training.history --help"


@dataclass(frozen=True, slots=True)
class Weights:
    """What was fitted."""

    rank: tuple[float, ...]
    """For each of NAMES."""
    verify: tuple[float, ...]
    """For each of VERIFIED; a logistic regression."""
    threshold: float
    """P(same failure) from which on a match is shown: held-out precision at least 0.90 there. Above 1 = never."""

    def scores(self, pairs: Array) -> Array:
        """Rank score of each pair, (pairs,); only differences between pairs of one report mean something."""
        return np.asarray(pairs @ np.array(self.rank))

    def probabilities(self, pairs: Array, scores: Array) -> Array:
        """P(same failure) of each pair of one report, (pairs,)."""
        return sigmoid(verified(pairs, scores) @ np.array(self.verify))


@dataclass(frozen=True, slots=True)
class Near:
    """An earlier report that may show the same failure."""

    record: Record
    score: float
    p: float
    shown: bool
    """Probable enough to be said unasked, or a copy."""
    copied: bool
    """The same report was posted before."""
    shared: Shared


def nearest(record: Record, index: Index, weights: Weights, k: int = 10) -> list[Near]:
    """The `k` nearest reports of `index`, best first; `record` itself must not be among them."""
    others = index.candidates(record)
    return closest(record, others, index.words, weights, k)


def closest(
    record: Record, others: Sequence[Record], rarities: Rarities, weights: Weights, k: int = 10
) -> list[Near]:
    """The `k` nearest of `others`, best first, whatever storage they come from.

    At most SHOWN of them are marked as to be shown. Equal scores: the older report first.
    """
    if not others:
        return []
    pairs = compare(record, others, rarities)
    scores = weights.scores(pairs)
    p = weights.probabilities(pairs, scores)
    copies = is_copy(pairs)
    fits = has_reason(pairs) & ((p >= weights.threshold) | copies)
    order = [int(n) for n in np.argsort(-scores, kind="stable")[:k]]
    return [
        Near(
            others[n],
            float(scores[n]),
            float(p[n]),
            place < SHOWN and bool(fits[n]),
            bool(copies[n]),
            shared(record, others[n], rarities),
        )
        for place, n in enumerate(order)
    ]


def has_reason(pairs: Array) -> npt.NDArray[np.bool_]:
    """Whether more than likeness speaks for a pair, (pairs,): an error that both show.

    "Replace X in module A" and "... in module B" are as alike as two reports of one failure; without this they would be
    most of what is shown on a tracker of tasks.
    """
    return np.asarray(pairs[:, NAMES.index("errors")] >= SAME_ERROR)


def is_copy(pairs: Array) -> npt.NDArray[np.bool_]:
    """Whether a report was posted again, (pairs,).

    P alone does not tell: in a small history no word is rare, and a copy gets 0.91 there.
    """
    words, errors = (pairs[:, NAMES.index(name)] for name in ("words", "errors"))
    return np.asarray((words >= COPIED) & (errors >= COPIED))


def verified(pairs: Array, scores: Array) -> Array:
    """The verifier's view of the pairs of one report, (pairs, len(VERIFIED))."""
    best, second = _two_best(scores)
    lead = scores - np.where(scores == best, second, best)
    return np.column_stack([np.ones(len(pairs)), pairs, scores, np.clip(lead, -5, 5)])


def _two_best(scores: Array) -> tuple[float, float]:
    top = np.sort(scores)[::-1]
    return float(top[0]), float(top[1]) if len(top) > 1 else float(top[0]) - 5


def sigmoid(values: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow."""
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -30, 30))))


def save_weights(weights: Weights, about: dict[str, Any], file: Path = SHIPPED) -> None:
    """Write the weights with the names they belong to and what they were fitted on."""
    named = {"rank_names": NAMES, "verify_names": VERIFIED, **asdict(weights), "about": about}
    file.write_text(json.dumps(named, indent=1) + "\n", "utf-8")


def load_weights(file: Path = SHIPPED) -> Weights:
    """Read the shipped weights. Raises ModelError when they are damaged or made for other numbers."""
    try:
        values = json.loads(file.read_text("utf-8"))
        fits = (tuple(values["rank_names"]), tuple(values["verify_names"])) == (NAMES, VERIFIED)
        weights = Weights(tuple(values["rank"]), tuple(values["verify"]), float(values["threshold"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{file.name} cannot be read ({type(error).__name__}).", _REMEDY) from error
    if not fits or (len(weights.rank), len(weights.verify)) != (len(NAMES), len(VERIFIED)):
        raise ModelError(f"{file.name} was fitted for other numbers of a pair.", _REMEDY)
    return weights
