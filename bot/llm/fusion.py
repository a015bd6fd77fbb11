"""Local judgement and second reader into one, log-linearly, by the weights in fusion.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from knowledge.errors import DataError
from knowledge.judging.axes import JUDGED, Judged
from knowledge.judging.judge import Judgement
from knowledge.triage import AXES, AxisName

SHIPPED = Path(__file__).parent / "fusion.toml"
_FLOOR = 1e-9

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """Weights per axis and where they come from; see fusion.toml."""

    account: Mapping[Judged, float]
    ranking: Mapping[AxisName, float]
    provenance: Mapping[str, object]


def load_weights(path: Path = SHIPPED) -> FusionWeights:
    """The weights of a file; DataError when one is missing or out of range (account 0-1, ranking 0-10)."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
        account: dict[Judged, float] = {axis: float(data["account"][axis]) for axis in JUDGED}
        ranking: dict[AxisName, float] = {axis: float(data["ranking"][axis]) for axis in AXES}
        provenance = dict(data["provenance"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: no fusion weights ({error!r}).", "See bot/llm/fusion.toml.") from error
    if not all(0 <= w <= 1 for w in account.values()) or not all(0 <= w <= 10 for w in ranking.values()):
        raise DataError(f"{path}: a weight is out of range.", "account: 0 to 1; ranking: 0 to 10.")
    return FusionWeights(account, ranking, provenance)


def fuse_account(
    local: Mapping[Judged, Judgement], account: Mapping[Judged, Judgement], weights: FusionWeights
) -> dict[Judged, Judgement]:
    """The report's judgement and its account's as a weighted geometric mean."""
    out = {}
    for axis, judgement in local.items():
        share = weights.account[axis]
        logs = (1 - share) * _log(judgement.p) + share * _log(account[axis].p)
        out[axis] = replace(judgement, p=_softmax(logs))
    return out


def fuse_ranking(
    local: Mapping[Judged, Judgement],
    rankings: Mapping[AxisName, Sequence[str]],
    weights: FusionWeights,
) -> dict[Judged, Judgement]:
    """The judgement moved towards the adjudicator's rankings; an axis without one stays as it is."""
    out = dict(local)
    for axis, ranking in rankings.items():
        if ranking:
            logs = _log(local[axis].p) + weights.ranking[axis] * ranking_scores(local[axis].ids, ranking)
            out[axis] = replace(local[axis], p=_softmax(logs))
    return out


def ranking_scores(ids: Sequence[str], ranking: Sequence[str]) -> Array:
    """-log of each id's place in the ranking, 1-based; ids not ranked share the place after the last."""
    places = {id_: place for place, id_ in enumerate(ranking, 1)}
    return -np.log([places.get(id_, len(ranking) + 1) for id_ in ids])


def _log(p: Array) -> Array:
    return np.log(np.maximum(np.asarray(p, np.float64), _FLOOR))


def _softmax(logs: Array) -> Array:
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum(), np.float64)
