"""Local judgement and second reader into one, log-linearly; the weights' files, and what a measurement left behind."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import re2

from knowledge.errors import DataError
from knowledge.judging.axes import JUDGED, Judged
from knowledge.judging.calibrate import combine
from knowledge.judging.judge import Judgement
from knowledge.triage import AXES, AxisName
from llm.duties import CANDIDATES
from llm.prompts import digest
from llm.values import RANKING, LlmConfig

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


# Fusion weights as a file: the shipped fusion.toml, or one that was fitted.

SHIPPED = Path(__file__).parent / "fusion.toml"


def load_weights(path: Path = SHIPPED) -> FusionWeights:
    """The weights of a file; DataError when one is missing or out of range (0 to 10)."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
        local: dict[Judged, float] = {axis: float(data["local"][axis]) for axis in JUDGED}
        account: dict[Judged, float] = {axis: float(data["account"][axis]) for axis in JUDGED}
        ranking: dict[Judged, float] = {axis: float(data["ranking"][axis]) for axis in AXES}
        threshold, mass = (
            {axis: float(data[name][axis]) for axis in JUDGED if axis in data.get(name, {})}
            for name in ("threshold", "mass")
        )
        places: dict[AxisName, tuple[float, ...]] = {
            axis: tuple(map(float, data["places"][axis])) for axis in AXES if axis in data.get("places", {})
        }
        provenance = dict(data["provenance"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} contains no fusion weights ({error!r}).", "See llm/fusion.toml.") from error
    for weights in (local, account, ranking):
        if not all(0 <= weight <= 10 for weight in weights.values()):
            raise DataError(f"{path}: a weight is out of range.", "Weights must be between 0 and 10.")
    if any(min(shares) <= 0 or abs(sum(shares) - 1) > 0.01 for shares in places.values()):
        raise DataError(f"{path}: `places` aren't valid shares.", "Shares must be above 0 and sum to 1.")
    return FusionWeights(local, account, ranking, provenance, threshold, mass, places)


def as_toml(weights: FusionWeights, more: Mapping[str, Mapping[str, object]] | None = None) -> str:
    """The text of a file that `load_weights` reads; `more` are further tables."""
    lines = ["# Made by `bot eval --fit-fusion`; llm/fusion.toml explains the weights."]
    tables: dict[str, Mapping[str, object]] = {
        name: dict(getattr(weights, name))
        for name in ("provenance", "local", "account", "ranking", "threshold", "mass", "places")
    }
    for name, table in {**(more or {}), **tables}.items():
        lines += ["", f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


# What a measurement of the LLM left behind: weights fitted on its answers, and whether it is asked at all.
#
# One file for each model, its duties and the wording of the questions; another model starts unmeasured.

_ODD = re2.compile(r"[^A-Za-z0-9.]+")


@dataclass(frozen=True, slots=True)
class Measured:
    """Fitted weights, and by `eval.summary` whether the LLM is asked: `why` is a sentence."""

    weights: FusionWeights
    use: bool
    why: str


def measured_file(data_dir: Path, config: LlmConfig) -> Path:
    """Where the measurement of the configured model stands, or would stand."""
    named = [config.model, config.answers_as, sorted(set(config.duties) & set(RANKING)), digest()]
    key = hashlib.sha256(json.dumps(named).encode()).hexdigest()[:12]
    name = _ODD.sub("-", config.model).strip("-.")[:60]
    return data_dir / "llm" / f"measured-{name}-{key}.toml"


def read_measured(data_dir: Path, config: LlmConfig) -> Measured | None:
    """The measurement of the configured model; None where it was not measured. DataError when it is damaged."""
    file = measured_file(data_dir, config)
    if not file.exists():
        return None
    weights = load_weights(file)
    decision = tomllib.loads(file.read_text("utf-8")).get("decision", {})
    if not isinstance(decision.get("use"), bool):
        raise DataError(
            f"{file} contains no decision.", "Delete it, or recreate it with `bot eval --fit-fusion`."
        )
    return Measured(weights, decision["use"], str(decision.get("why", "")))


def write_measured(data_dir: Path, config: LlmConfig, measured: Measured) -> Path:
    """Write it as a file to read and change by hand; returns where."""
    file = measured_file(data_dir, config)
    file.parent.mkdir(parents=True, exist_ok=True)
    tables = {"decision": {"use": measured.use, "why": measured.why}}
    part = file.with_suffix(".part")
    part.write_text(as_toml(measured.weights, tables), "utf-8")
    part.replace(file)
    return file
