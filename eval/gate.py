"""The regression gate: a stored run's hits, and what of a new run is significantly worse."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from eval.compare import Difference, difference
from eval.predictions import Predictions, read_stored
from eval.protocol import SCORED
from eval.scored import scored
from knowledge.errors import DataError

GATED = tuple((axis, "top1") for axis in SCORED) + tuple(
    (axis, "top3") for axis in ("symptom", "cause", "fix")
)
LEAST_SHARED = 0.9
"""Share of the baseline's cases that the new run must hold; with fewer the gate would compare something else."""


class Baseline(BaseModel):
    """A run as the gate needs it: per axis and case (hit at 1, hit at 3); no texts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    system: str
    split: str
    hits: dict[str, dict[str, tuple[int, int]]]
    groups: dict[str, str]
    """Group of each case whose group is not its own id."""


def baseline_of(predictions: Predictions) -> Baseline:
    """What the gate keeps of a run."""
    hits: dict[str, dict[str, tuple[int, int]]] = {}
    for axis in SCORED:
        s = scored(predictions, axis)
        hits[axis] = {
            case.id: (int(one), int(three)) for case, one, three in zip(s.cases, s.hit1, s.hit3, strict=True)
        }
    groups = {case.id: case.group for case in predictions.cases if case.group != case.id.lower()}
    return Baseline(system=predictions.system, split=predictions.split, hits=hits, groups=groups)


def read_baseline(file: Path) -> Baseline:
    """A stored baseline. DataError when the file is none."""
    return read_stored(Baseline, file, "is not a baseline", "bot eval --save-baseline FILE")


def write_baseline(baseline: Baseline, file: Path) -> None:
    """Write it, one axis a line, so that a change reads in a diff."""
    file.write_text(baseline.model_dump_json().replace('},"', '},\n"') + "\n", "utf-8")


def judge_run(baseline: Baseline, predictions: Predictions) -> list[Difference]:
    """New minus old, for every gated figure over the cases that both have.

    DataError when the new run lacks too many of the baseline's cases.
    """
    new = baseline_of(predictions)
    out = []
    for axis, metric in GATED:
        old_hits, new_hits = baseline.hits.get(axis, {}), new.hits.get(axis, {})
        common = [id for id in old_hits if id in new_hits]
        if len(common) < LEAST_SHARED * len(old_hits):
            raise DataError(
                f"The run scores {len(common)} of the baseline's {len(old_hits)} cases on {axis}.",
                "Run the gate on the data that the baseline was made from, or store a new baseline.",
            )
        if common:
            column = 0 if metric == "top1" else 1
            old = np.array([old_hits[id][column] for id in common], bool)
            now = np.array([new_hits[id][column] for id in common], bool)
            out.append(difference(axis, metric, old, now, [baseline.groups.get(id, id) for id in common]))
    return out


def regressions(differences: list[Difference]) -> list[Difference]:
    """Those that are significantly worse: the whole interval lies below zero."""
    return [one for one in differences if one.high < 0]
