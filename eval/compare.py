"""Two systems on the same cases: paired bootstrap over groups, McNemar's exact test, and the gate."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from eval.metrics import REPLICATES, group_weights, scored
from eval.protocol import SCORED, CasePrediction, Predictions, read_stored
from knowledge.errors import DataError, UserError

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Difference:
    """B minus A on `n` common cases, with a 95 % interval and McNemar's two-sided p.

    `only_a`, `only_b`: cases that one system gets right and the other does not.
    """

    axis: str
    metric: str
    n: int
    a: float
    b: float
    low: float
    high: float
    only_a: int
    only_b: int
    p: float

    @property
    def delta(self) -> float:
        """B minus A."""
        return self.b - self.a

    @property
    def significant(self) -> bool:
        """The interval leaves zero out."""
        return self.low > 0 or self.high < 0


def mcnemar(only_a: int, only_b: int) -> float:
    """Two-sided exact p of McNemar's test (Psychometrika 12, 1947): discordant cases as tosses of a fair coin."""
    n = only_a + only_b
    tail = sum(comb(n, k) for k in range(min(only_a, only_b) + 1))
    return min(1.0, tail / 2.0 ** (n - 1))


def difference(axis: str, metric: str, a: Flags, b: Flags, groups: list[str]) -> Difference:
    """Paired comparison of hits (n,) of two systems on the same cases in the same order."""
    number = {name: at for at, name in enumerate(dict.fromkeys(groups))}
    weights = group_weights(np.array([number[group] for group in groups], np.int64), 2 * REPLICATES)
    delta = b.astype(float) - a.astype(float)
    drawn = (weights @ delta) / weights.sum(axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    return Difference(
        axis, metric, len(a), float(a.mean()), float(b.mean()), float(low), float(high), only_a, only_b,
        mcnemar(only_a, only_b),
    )  # fmt: skip


def compare(a: Predictions, b: Predictions) -> list[Difference]:
    """B against A on every axis that both predicted. UserError when they have no case in common."""
    out = []
    for axis in SCORED:
        one, other = scored(a, axis), scored(b, axis)
        at_a = {_key(case, axis): at for at, case in enumerate(one.cases)}
        at_b = {_key(case, axis): at for at, case in enumerate(other.cases)}
        common = [key for key in at_a if key in at_b]
        if not common:
            continue
        rows_a, rows_b = [at_a[key] for key in common], [at_b[key] for key in common]
        groups = [one.cases[row].group for row in rows_a]
        out.append(difference(axis, "top1", one.hit1[rows_a], other.hit1[rows_b], groups))
        if axis in ("symptom", "cause", "fix"):
            out.append(difference(axis, "top3", one.hit3[rows_a], other.hit3[rows_b], groups))
    if not out:
        raise UserError("The two files have no scored cases in common.", "Compare runs on the same data.")
    return out


@dataclass(frozen=True, slots=True)
class Changed:
    """A case whose first id is right in one of two runs alone; `a` and `b` are the first ids."""

    id: str
    labels: tuple[str, ...]
    a: str
    b: str
    better: bool
    """B is the one that is right."""


def changed(a: Predictions, b: Predictions) -> dict[str, list[Changed]]:
    """By axis, the cases that only one run gets right: what B gained first. Axes without any are left out."""
    out: dict[str, list[Changed]] = {}
    for axis in SCORED:
        one, other = scored(a, axis), scored(b, axis)
        at_b = {_key(case, axis): at for at, case in enumerate(other.cases)}
        found = [
            Changed(
                case.id,
                tuple(case.labels[axis]),
                one.classes[one.predicted[at]],
                other.classes[other.predicted[there]],
                bool(other.hit1[there]),
            )
            for at, case in enumerate(one.cases)
            if (there := at_b.get(_key(case, axis))) is not None and one.hit1[at] != other.hit1[there]
        ]
        if found:
            out[axis] = sorted(found, key=lambda case: (not case.better, case.id))
    return out


def _key(case: CasePrediction, axis: str) -> tuple[str, tuple[str, ...]]:
    """Cases are the same when id and labels are: runs on relabelled data do not compare."""
    return case.id, tuple(sorted(case.labels[axis]))


# The regression gate: a stored run's hits, and what of a new run is significantly worse.

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
                f"The run scores only {len(common)} of the baseline's {len(old_hits)} cases on {axis}.",
                "Run the gate on the data that the baseline was made from, or save a new baseline.",
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
