"""Ranking earlier reports, and how probable it is that the nearest show the same failure.

Two small linear models over the numbers of a pair (knowledge/history/compare.py). Their weights ship in weights.json;
`python -m knowledge.training.history` fits them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from knowledge.errors import ModelError
from knowledge.history.compare import NAMES, Rarities, Shared, compare, shared
from knowledge.history.index import Index
from knowledge.history.record import Record

Array = npt.NDArray[np.float64]
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
