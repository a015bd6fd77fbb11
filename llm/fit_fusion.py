"""Fitting the weights of fusion.toml on a benchmark that an LLM has answered.

The local judgements must not have seen the cases they are fitted on (out of fold), else the LLM counts too little.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from knowledge.judging.axes import JUDGED, Judged
from knowledge.judging.calibrate import combine, fit_mass, fit_threshold, fit_weights
from knowledge.judging.learner import TARGET_COVERAGE, TARGET_PRECISION
from llm.fusion import Array, FusionWeights, Judgements, opinions

LEAST = 40
"""Answered cases of an axis below which its weights stay as they were."""
LOCAL = (1.0, 0.0, 0.0)
"""Exponents of an axis on which only the local judgement counts: where the search starts."""
SURE = 1.645
"""Standard errors by which the LLM must lower the loss on cases left out, or the axis stays local (5 %, one-sided)."""
_PARTS = 5


@dataclass(frozen=True, slots=True)
class FitRow:
    """One benchmark case: local judgement, the account's (if read), the rankings (if given), the right ids.

    Rows of one `fold` share a local judge; rows of one `group` tell of the same issue and are never parted.
    """

    id: str
    fold: str
    group: str
    local: Judgements
    account: Judgements | None
    rankings: Mapping[Judged, Sequence[str]]
    right: Mapping[Judged, Sequence[str]]

    def spoken(self, axis: Judged) -> bool:
        """Whether the case is labelled on the axis and the LLM said something on it."""
        heard = self.account is not None or bool(self.rankings.get(axis))
        return heard and bool(self.right.get(axis))


@dataclass(frozen=True, slots=True)
class _Data:
    """Rows of one axis: n rows, C ids."""

    sources: tuple[Array, Array, Array]
    """Each (n, C): log local, log account, ranking."""
    hits: Array
    """(n, C): 1 where an id is right."""
    part: Array
    """(n,): which part a row is left out with."""

    def only(self, kept: Array) -> _Data:
        one, two, three = (source[kept] for source in self.sources)
        return _Data((one, two, three), self.hits[kept], self.part[kept])

    def losses(self, weights: Sequence[float]) -> Array:
        right = (combine(self.sources, weights) * self.hits).sum(axis=1)
        return np.asarray(-np.log(np.maximum(right, 1e-9)))


def fit(rows: Sequence[FitRow], start: FusionWeights, provenance: Mapping[str, object]) -> FusionWeights:
    """Weights of the least mean negative log probability of a right id, each axis for itself.

    An axis on which the LLM does not surely help on cases left out keeps the local judgement alone; one with
    too few answered cases keeps the weights of `start`.
    """
    local, account, ranking = dict(start.local), dict(start.account), dict(start.ranking)
    threshold: dict[Judged, float] = {}
    mass: dict[Judged, float] = {}
    for axis in JUDGED:
        spoken = [row for row in rows if row.spoken(axis)]
        if len(spoken) < LEAST:
            continue
        data = _data(spoken, axis)
        weights = _fitted(data) if _helps(data) else LOCAL
        local[axis], account[axis] = weights[0], weights[1]
        if axis in ranking:
            ranking[axis] = weights[2]
        if weights != LOCAL:
            p = combine(data.sources, weights)
            threshold[axis] = fit_threshold(p, data.hits, TARGET_PRECISION[axis])
            mass[axis] = fit_mass(p, data.hits, TARGET_COVERAGE)
    return FusionWeights(local, account, ranking, provenance, threshold, mass)


def nested(rows: Sequence[FitRow], start: FusionWeights) -> dict[str, FusionWeights]:
    """For each fold the weights that its cases had no part in: fitted on the rows of all other folds."""
    return {
        fold: fit([row for row in rows if row.fold != fold], start, {"how": f"fitted without {fold}"})
        for fold in dict.fromkeys(row.fold for row in rows)
    }


def _data(rows: Sequence[FitRow], axis: Judged) -> _Data:
    told = [
        opinions(
            row.local[axis],
            row.account[axis] if row.account else None,
            row.rankings.get(axis, ()),
        )
        for row in rows
    ]
    own, account, ranking = (np.stack([one[n] for one in told]) for n in range(3))
    hits = np.array([[float(id_ in row.right[axis]) for id_ in row.local[axis].ids] for row in rows])
    part = np.array([hashlib.sha256(row.group.encode()).digest()[0] % _PARTS for row in rows], float)
    return _Data((own, account, ranking), hits, part)


def _fitted(data: _Data) -> tuple[float, float, float]:
    one, two, three = fit_weights(data.sources, data.hits, LOCAL)
    return round(min(one, 10.0), 4), round(min(two, 10.0), 4), round(min(three, 10.0), 4)


def _helps(data: _Data) -> bool:
    """Whether the loss on parts left out is surely lower with the LLM than without."""
    gains = np.zeros(len(data.hits))
    for number in range(_PARTS):
        out = data.part == number
        if out.any() and not out.all():
            left, tested = data.only(~out), data.only(out)
            alone = _without_llm(left)
            gains[out] = tested.losses(alone) - tested.losses(_fitted(left))
    error = float(gains.std(ddof=1)) / len(gains) ** 0.5
    return bool(gains.mean() > SURE * error)


def _without_llm(data: _Data) -> tuple[float, float, float]:
    """What a better temperature of the local judgement does is not to the LLM's credit."""
    (one,) = fit_weights(data.sources[:1], data.hits, LOCAL[:1])
    return one, 0.0, 0.0
