"""Fusion weights as a file: the shipped fusion.toml, or one that was fitted."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from knowledge.errors import DataError
from knowledge.judging.axes import JUDGED, Judged
from knowledge.triage import AXES, AxisName
from llm.fusion import FusionWeights

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
        raise DataError(f"{path}: no fusion weights ({error!r}).", "See llm/fusion.toml.") from error
    for weights in (local, account, ranking):
        if not all(0 <= weight <= 10 for weight in weights.values()):
            raise DataError(f"{path}: a weight is out of range.", "Weights are 0 to 10.")
    if any(min(shares) <= 0 or abs(sum(shares) - 1) > 0.01 for shares in places.values()):
        raise DataError(f"{path}: places are no shares.", "Shares are above 0 and sum to 1.")
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
