"""Local judgement and second reader into one, log-linearly, by the weights in fusion.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from knowledge.judging.axes import Judged
from knowledge.judging.calibrate import combine
from knowledge.judging.judge import Judgement
from knowledge.triage import AxisName
from llm.adjudicator import CANDIDATES

_FLOOR = 1e-9
CAPABLE = 0.2
"""How probable it is, before its first answer is seen, that a model nobody measured ranks better than by lot."""

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
    places: Mapping[AxisName, Sequence[float]] = field(default_factory=dict)
    """How often a capable model has the right id first, second, ...; the last place is for ids behind, or not ranked.
    Empty where the weights are those of one measured model, which needs no trust of its own."""

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

    `account` is the local judge's judgement of the reader's account; `rankings` are the adjudicator's. A ranking moves
    an axis from the local judgement towards the weights' as far as it can be trusted.
    """
    out = dict(local)
    trusted = trust(local, rankings, weights)
    for axis, judgement in local.items():
        ranking = rankings.get(axis, ())
        if account is None and not ranking:
            continue
        told = opinions(judgement, account[axis] if account else None, ranking)
        own, retold, ranked = weights.of(axis)
        share = 1.0
        if axis in weights.places:
            if ranking:
                share = trusted
            else:
                own, retold = own / (own + retold), retold / (own + retold)
        exponents = (1 - share + share * own, share * retold, share * ranked)
        out[axis] = Judgement(
            judgement.ids,
            combine([one[None, :] for one in told], exponents)[0],
            _between(judgement.threshold, weights.threshold.get(axis), share),
            _between(judgement.mass, weights.mass.get(axis), share),
        )
    return out


def trust(local: Judgements, rankings: Mapping[Judged, Sequence[str]], weights: FusionWeights) -> float:
    """P(the model read the report, rather than ranked by lot), by how its rankings fit the local judgement.

    Bayes over the axes: a capable model puts the right id into each place as often as `weights.places` says, one that
    draws lots puts it anywhere alike, and which id is right is as probable as the local judge says.
    """
    odds = CAPABLE / (1 - CAPABLE)
    for axis, shares in weights.places.items():
        ranking = rankings.get(axis, ())
        if not ranking:
            continue
        judgement, behind = local[axis], len(shares) - 1
        count = min(CANDIDATES[axis], len(judgement.ids))
        places = {id_: place for place, id_ in enumerate(ranking[:behind])}
        each = [*shares[:-1], shares[-1] / max(count - behind, 1)]
        at = np.array([each[places.get(id_, behind)] for id_ in judgement.ids])
        odds *= count * float(at @ judgement.p)
    return odds / (1 + odds) if weights.places else 1.0


def _between(local: float, fused: float | None, share: float) -> float:
    return local if fused is None else (1 - share) * local + share * fused


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
