"""A system's predictions summed up: headline figures with intervals, per-class table, confusion, curves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eval.bootstrap import REPLICATES, Estimate, estimate, group_weights
from eval.compare import Difference
from eval.metrics import BINS, METRICS, bin_of, class_counts, f1_of, macro_f1, same_symptom
from eval.predictions import Predictions
from eval.protocol import SCORED
from eval.scored import Scored, scored
from eval.usage import UsageSummary

LEAST = 100
"""Reports that the LLM must have answered about; fewer decide nothing."""
LEVEL = 0.05
DECIDING = ("type", "stage", "symptom", "cause", "fix")
"""Axes whose first id may show the gain."""


@dataclass(frozen=True, slots=True)
class Worth:
    """Whether the LLM is to be asked (None: too little was measured) and why, in a sentence."""

    use: bool | None
    why: str


def worth(differences: Sequence[Difference], usage: UsageSummary) -> Worth:
    """The rule, on `differences` of the system with the LLM (B) against the one without (A)."""
    if usage.used < LEAST:
        return Worth(None, f"It answered about {usage.used} reports; fewer than {LEAST} decide nothing.")
    if usage.fabricated:
        return Worth(False, f"Something made up came out in {usage.fabricated} answers.")
    worse = [one for one in differences if one.high < 0]
    if worse:
        return Worth(False, f"Significantly worse: {_named(worse)}.")
    better = [one for one in differences if _decides(one) and one.low > 0 and one.p < LEVEL / len(DECIDING)]
    if better:
        return Worth(True, f"Significantly better: {_named(better)}; nothing significantly worse.")
    return Worth(False, f"No significant gain on {usage.reports} reports.")


def _decides(one: Difference) -> bool:
    return one.axis in DECIDING and one.metric == "top1"


def _named(found: Sequence[Difference]) -> str:
    return ", ".join(f"{one.axis} {one.metric} {one.a:.3f} to {one.b:.3f}" for one in found)


@dataclass(frozen=True, slots=True)
class ClassRow:
    """One class: labelled cases, how many of them were hit, share of its predictions that are right, F1."""

    id: str
    cases: int
    recall: float
    precision: float | None
    f1: float


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin of the reliability plot: mean confidence, share right, cases."""

    confidence: float
    right: float
    cases: int


@dataclass(frozen=True, slots=True)
class AxisSummary:
    """Everything told of one axis."""

    axis: str
    n: int
    unanswered: int
    figures: Mapping[str, Estimate]
    classes: Sequence[ClassRow]
    confusion: Mapping[tuple[str, str], int]
    """(label, predicted) -> cases; a case of several labels counts under the one hit, else under its first."""
    bins: Sequence[Bin]
    risk: Sequence[tuple[float, float]]
    """(coverage, share wrong) from the most confident case on."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A system's figures on every axis that has labels; `type_f1_by_repository` where only types are known."""

    system: str
    split: str
    learned_from: str
    cases: int
    axes: Mapping[str, AxisSummary]
    neighbours: Estimate
    type_f1_by_repository: Mapping[str, float]

    @property
    def mean_type_f1(self) -> float | None:
        """Mean over repositories of the macro-F1 of the type, as the NLBSE tool competition counts."""
        values = list(self.type_f1_by_repository.values())
        return float(np.mean(values)) if values else None


def summarise(predictions: Predictions, replicates: int = REPLICATES) -> Summary:
    """All figures of a system."""
    axes = {axis: scored(predictions, axis) for axis in SCORED}
    symptom = axes["symptom"]
    return Summary(
        predictions.system,
        predictions.split,
        predictions.learned_from,
        len(predictions.cases),
        {axis: _axis(s, replicates) for axis, s in axes.items() if len(s) or s.unanswered},
        estimate(same_symptom, symptom, group_weights(symptom.group, replicates)),
        _by_repository(predictions) if predictions.types_only else {},
    )


def _axis(s: Scored, replicates: int) -> AxisSummary:
    weights = group_weights(s.group, replicates)
    figures = {name: estimate(metric, s, weights) for name, metric in METRICS.items()}
    return AxisSummary(s.axis, len(s), s.unanswered, figures, _classes(s), _confusion(s), _bins(s), _risk(s))


def _classes(s: Scored) -> list[ClassRow]:
    counts = class_counts(s, np.ones((1, len(s))))
    found, wrong, lost = (one[0] for one in counts)
    f1 = f1_of(*counts)[0]
    return [
        ClassRow(
            id,
            int(found[at] + lost[at]),
            float(found[at] / (found[at] + lost[at])),
            float(found[at] / (found[at] + wrong[at])) if found[at] + wrong[at] else None,
            float(f1[at]),
        )
        for at, id in enumerate(s.classes)
        if found[at] + lost[at]
    ]


def _confusion(s: Scored) -> dict[tuple[str, str], int]:
    out: dict[tuple[str, str], int] = defaultdict(int)
    for case, predicted, hit in zip(s.cases, s.predicted, s.hit1, strict=True):
        said = s.classes[predicted]
        out[said if hit else case.labels[s.axis][0], said] += 1
    return dict(out)


def _bins(s: Scored) -> list[Bin]:
    place = bin_of(s.confidence)
    return [
        Bin(float(s.confidence[place == b].mean()), float(s.hit1[place == b].mean()), int((place == b).sum()))
        for b in range(BINS)
        if (place == b).any()
    ]


def _risk(s: Scored) -> list[tuple[float, float]]:
    order = np.argsort(-s.confidence, kind="stable")
    depth = np.arange(1, len(s) + 1)
    risk = np.cumsum(~s.hit1[order]) / depth
    return [(float(d / len(s)), float(r)) for d, r in zip(depth, risk, strict=True)]


def _by_repository(predictions: Predictions) -> dict[str, float]:
    out = {}
    for repository in sorted({case.repository for case in predictions.cases}):
        own = [case for case in predictions.cases if case.repository == repository]
        s = scored(predictions.model_copy(update={"cases": own}), "type")
        if len(s):
            out[repository] = float(macro_f1(s, np.ones((1, len(s))))[0])
    return out
