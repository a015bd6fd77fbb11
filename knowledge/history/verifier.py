"""Ranking earlier reports, and how probable it is that the nearest show the same failure.

Two small linear models over the numbers of a pair (knowledge/history/pairs.py). Their weights ship in weights.json;
`python -m knowledge.training.history` fits them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from knowledge.errors import ModelError
from knowledge.history.index import Index, all_words
from knowledge.history.pairs import NAMES, TELLING, Array, Rarities, compare, telling
from knowledge.history.record import Record

_SHARED = 3
"""Words or frames named at most."""


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
    title: Literal["", "test", "subject"] = ""
    """What both titles name: the same failing test, or the same subject."""


def shared(record: Record, other: Record, rarities: Rarities, tells: Array) -> Shared:
    """Say what `record` and the earlier `other` have in common; `tells` are the pair's numbers of `telling`."""
    test, subject = titles_share(tells)
    theirs = set(other.frames)
    frames = tuple(frame for frame in record.frames if frame in theirs)
    both = [name for name in record.versions if name in other.versions]
    same = {name: record.versions[name] for name in both if record.versions[name] == other.versions[name]}
    mine = all_words(record)
    common = sorted(word for word in all_words(other) if word in mine and any(map(str.isalpha, word)))
    rare = np.argsort(-rarities.rarity(common), kind="stable")[:_SHARED]
    return Shared(
        signatures=tuple(id for id in record.signatures if id in other.signatures),
        failures=tuple(id for id in record.failures if id in other.failures),
        exception=record.exception if record.exception == other.exception else "",
        line=next((line for line in record.lines if line in other.lines), ""),
        frames=frames[:_SHARED],
        innermost=bool(frames) and record.frames[0] == other.frames[0],
        versions=same,
        differ={name: (record.versions[name], other.versions[name]) for name in both if name not in same},
        words=tuple(common[n] for n in rare),
        state=other.state,
        resolution=other.resolution,
        title="test" if test else "subject" if subject else "",
    )


SHIPPED = Path(__file__).parent / "weights.json"
VERIFIED = ("one", *NAMES, "score", "lead", *TELLING)
"""What the verifier sees of a pair: 1, its numbers, its rank score, by how much that leads over the next best, and what
tells a repeat from a look-alike."""
SAME_ERROR = 0.85
"""Likeness of the error lines from which on two reports show one error: half of a stack and its exception are often
shared by different failures."""
SAME_SUBJECT = 1.2
"""Likeness of the titles' subjects from which on two reports have one: two rare words and no other are enough; all of
"Build failure when installing" is not."""
COPIED = 0.97
"""Likeness of both the whole reports and their error lines from which on one is a copy of the other."""
SHOWN = 2
"""Matches shown at most."""
WORTH_READING = 0.07
"""P(same failure) from which on both texts are worth the reading: about one in three of those not shown is right."""
_REMEDY = "Reinstall distriage, or run: python -m knowledge.training.history --help"


@dataclass(frozen=True, slots=True)
class Weights:
    """What was fitted."""

    rank: tuple[float, ...]
    """For each of NAMES."""
    verify: tuple[float, ...]
    """For each of VERIFIED; a logistic regression."""
    threshold: float
    """P(same failure) from which on a match is shown: held-out precision at least 0.95 there. Above 1 = never."""

    def scores(self, pairs: Array) -> Array:
        """Rank score of each pair, (pairs,); only differences between pairs of one report mean something."""
        return np.asarray(pairs @ np.array(self.rank))

    def probabilities(self, seen: Array) -> Array:
        """P(same failure) of pairs as `verified` shows them, (pairs,)."""
        return sigmoid(seen @ np.array(self.verify))


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
    order = np.argsort(-scores, kind="stable")[:k]
    best = [others[n] for n in order]
    tells = telling(record, best, rarities)
    p = weights.probabilities(verified(pairs, scores, order, tells))
    copies = is_copy(pairs[order])
    fits = (has_reason(pairs[order], tells) & (p >= weights.threshold)) | copies
    return [
        Near(
            other,
            float(scores[order[place]]),
            float(p[place]),
            place < SHOWN and bool(fits[place]),
            bool(copies[place]),
            shared(record, other, rarities, tells[place]),
        )
        for place, other in enumerate(best)
    ]


def worth_reading(near: Sequence[Near]) -> list[Near]:
    """Of the nearest, best first, those that could be shown if somebody who reads both texts found them the same."""
    return [one for one in near[:SHOWN] if not one.shown and one.p >= WORTH_READING]


def has_reason(pairs: Array, tells: Array) -> npt.NDArray[np.bool_]:
    """Whether a reader sees why the two are one failure, (pairs,): the same error, subject or failing test.

    P alone is not enough outside of the trackers that it was learned from. There, pairs of long logs with half of an
    error in common get a high one, as do failures of two tests in one run.
    """
    test, subject = titles_share(tells)
    return np.asarray((pairs[:, NAMES.index("errors")] >= SAME_ERROR) | test | subject)


def titles_share(tells: Array) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Of each pair, (pairs,): whether both titles name the same failing test, and whether they have one subject."""
    told = dict(zip(TELLING, tells.T, strict=True))
    return np.asarray(told["same_test"] > 0), np.asarray(told["subject"] >= SAME_SUBJECT)


def is_copy(pairs: Array) -> npt.NDArray[np.bool_]:
    """Whether a report was posted again, (pairs,).

    P alone does not tell: in a small history no word is rare, and a copy gets 0.91 there.
    """
    words, errors = (pairs[:, NAMES.index(name)] for name in ("words", "errors"))
    return np.asarray((words >= COPIED) & (errors >= COPIED))


def verified(pairs: Array, scores: Array, chosen: npt.NDArray[np.int64], tells: Array) -> Array:
    """The verifier's view of the chosen of one report's pairs, (chosen, len(VERIFIED)).

    `tells` are what `telling` says of the chosen; `pairs` and `scores` those of all candidates.
    """
    best, second = _two_best(scores)
    lead = scores - np.where(scores == best, second, best)
    seen = np.column_stack([np.ones(len(pairs)), pairs, scores, np.clip(lead, -5, 5)])
    return np.column_stack([seen[chosen], tells])


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
        raise ModelError(f"Can't read {file.name} ({type(error).__name__}).", _REMEDY) from error
    if not fits or (len(weights.rank), len(weights.verify)) != (len(NAMES), len(VERIFIED)):
        raise ModelError(f"{file.name} was fitted with different features.", _REMEDY)
    return weights
