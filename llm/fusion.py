"""Local judgement and second reader into one, log-linearly, by the weights in fusion.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from knowledge.judging.axes import Judged
from knowledge.judging.calibrate import combine
from knowledge.judging.judge import Judgement

_FLOOR = 1e-9

Array = npt.NDArray[np.float64]
Judgements = Mapping[Judged, Judgement]


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """Exponents per axis and where they come from; see fusion.toml.

    `threshold` and `mass` replace those of the local judge on the axes that they name.
    """

    local: Mapping[Judged, float]
    account: Mapping[Judged, float]
    ranking: Mapping[Judged, float]
    provenance: Mapping[str, object]
    threshold: Mapping[Judged, float] = field(default_factory=dict)
    mass: Mapping[Judged, float] = field(default_factory=dict)

    def of(self, axis: Judged) -> tuple[float, float, float]:
        """Exponents of local judgement, account and ranking."""
        return self.local[axis], self.account[axis], self.ranking.get(axis, 0.0)


def fuse(
    local: Judgements,
    account: Judgements | None,
    rankings: Mapping[Judged, Sequence[str]],
    weights: FusionWeights,
) -> dict[Judged, Judgement]:
    """The local judgement moved by what the second reader said; an axis on which it said nothing stays as it is.

    `account` is the local judge's judgement of the reader's account; `rankings` are the adjudicator's.
    """
    out = dict(local)
    for axis, judgement in local.items():
        ranking = rankings.get(axis, ())
        if account is None and not ranking:
            continue
        told = opinions(judgement, account[axis] if account else None, ranking)
        out[axis] = Judgement(
            judgement.ids,
            combine([one[None, :] for one in told], weights.of(axis))[0],
            weights.threshold.get(axis, judgement.threshold),
            weights.mass.get(axis, judgement.mass),
        )
    return out


def opinions(
    local: Judgement, account: Judgement | None, ranking: Sequence[str]
) -> tuple[Array, Array, Array]:
    """What the exponents stand on, each (ids,). Without an account the local judgement stands for it."""
    own = _log(local.p)
    silent = np.zeros(len(local.ids))
    return (
        own,
        own if account is None else _log(account.p),
        ranking_scores(local.ids, ranking) if ranking else silent,
    )


def ranking_scores(ids: Sequence[str], ranking: Sequence[str]) -> Array:
    """-log of each id's place in the ranking, 1-based; ids not ranked share the place after the last."""
    places = {id_: place for place, id_ in enumerate(ranking, 1)}
    return -np.log([places.get(id_, len(ranking) + 1) for id_ in ids])


def _log(p: Array) -> Array:
    return np.log(np.maximum(np.asarray(p, np.float64), _FLOOR))
