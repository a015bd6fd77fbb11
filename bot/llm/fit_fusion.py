"""Fitting the weights of fusion.toml on a benchmark that an LLM has answered.

The local judgements must not have seen the cases they are fitted on (out-of-fold), else the LLM counts too little.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bot.llm.fusion import FusionWeights, fuse_account, fuse_ranking
from knowledge.judging.axes import JUDGED, Judged
from knowledge.judging.judge import Judgement
from knowledge.triage import AXES, AxisName

LEAST = 40
"""Answered cases of an axis below which its weight stays as it was."""
_ACCOUNT = np.linspace(0.0, 1.0, 21)
_RANKING = np.linspace(0.0, 4.0, 41)


@dataclass(frozen=True, slots=True)
class FitRow:
    """One benchmark case: local judgement, the account's (if read), the rankings (if given), the right ids."""

    local: Mapping[Judged, Judgement]
    account: Mapping[Judged, Judgement] | None
    rankings: Mapping[AxisName, Sequence[str]]
    right: Mapping[Judged, Sequence[str]]


def fit(rows: Sequence[FitRow], start: FusionWeights, provenance: Mapping[str, object]) -> FusionWeights:
    """Weights of the least mean negative log probability of a right id, each axis for itself.

    First the account's share, then the ranking's weight on what that leaves.
    """
    account = dict(start.account)
    for axis in JUDGED:
        read = [r for r in rows if r.account is not None and r.right.get(axis)]
        if len(read) >= LEAST:
            account[axis] = _best(_ACCOUNT, read, axis, start, "account")
    fitted = FusionWeights(account, start.ranking, start.provenance)
    ranking = dict(start.ranking)
    for axis in AXES:
        ranked = [r for r in rows if r.rankings.get(axis) and r.right.get(axis)]
        if len(ranked) >= LEAST:
            ranking[axis] = _best(_RANKING, ranked, axis, fitted, "ranking")
    return FusionWeights(account, ranking, provenance)


def write(weights: FusionWeights, path: Path) -> None:
    """As a file that `load_weights` reads."""
    lines = ["# Fitted by bot/llm/fit_fusion.py; what the weights mean is told in the shipped fusion.toml."]
    for name, table in (
        ("provenance", weights.provenance),
        ("account", weights.account),
        ("ranking", weights.ranking),
    ):
        lines += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _best(grid: np.ndarray, rows: Sequence[FitRow], axis: Judged, base: FusionWeights, which: str) -> float:
    losses = []
    for weight in grid:
        changed = {**getattr(base, which), axis: float(weight)}
        weights = FusionWeights(
            changed if which == "account" else base.account,
            changed if which == "ranking" else base.ranking,
            base.provenance,
        )
        losses.append(np.mean([_loss(row, axis, weights) for row in rows]))
    return round(float(grid[int(np.argmin(losses))]), 3)


def _loss(row: FitRow, axis: Judged, weights: FusionWeights) -> float:
    judged: Mapping[Judged, Judgement] = {axis: row.local[axis]}
    if row.account is not None:
        judged = fuse_account(judged, row.account, weights)
    judged = fuse_ranking(judged, {a: r for a, r in row.rankings.items() if a == axis}, weights)
    p = dict(zip(judged[axis].ids, judged[axis].p, strict=True))
    return -float(np.log(max(1e-9, sum(float(p.get(id_, 0.0)) for id_ in row.right[axis]))))


def _toml(value: object) -> str:
    return json.dumps(value)
