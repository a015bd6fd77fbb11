"""Every metric as a function of case weights, so that one definition gives the figure and its bootstrap interval.

Weights are float64 (B, n): row b says how often each case counts in replicate b; a row of ones gives the figure
itself. Each metric returns (B,), NaN where nothing can be said (no answer claimed, no answer set given).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from eval.protocol import CasePrediction, Predictions
from knowledge.judging.calibrate import lower_bound

# Predictions of one axis as arrays: what every metric is computed from.

UNRANKED = 10_000
"""The place of a case whose labels are not ranked at all: behind every place that counts."""
Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Scored:
    """n cases that have a label on the axis and a prediction for it; C classes.

    A hit on any of a case's labels counts. `unanswered`: labelled cases for which the system gave nothing;
    they are left out here, and told.
    """

    axis: str
    cases: tuple[CasePrediction, ...]
    unanswered: int
    classes: tuple[str, ...]
    truth: Flags
    """(n, C): the class is among the case's labels."""
    predicted: npt.NDArray[np.int64]
    """(n,): position of the most probable class."""
    confidence: Array
    """(n,): its probability."""
    place: npt.NDArray[np.int64]
    """(n,): how many ids are ranked before the first right one; UNRANKED where none is."""
    answered: Flags
    """(n,): something is claimed."""
    answer_right: Flags
    set_size: npt.NDArray[np.int64]
    """(n,): size of the answer set; 0 = none given."""
    set_right: Flags
    group: npt.NDArray[np.int64]
    """(n,): number of the case's group; groups are resampled whole."""

    def __len__(self) -> int:
        """Number of cases."""
        return len(self.cases)

    @cached_property
    def hit1(self) -> Flags:
        """(n,): the most probable id is right."""
        return np.asarray(self.place < 1)

    @cached_property
    def hit3(self) -> Flags:
        """(n,): a right id is among the three most probable."""
        return np.asarray(self.place < 3)


def scored(predictions: Predictions, axis: str) -> Scored:
    """The cases of `predictions` that count on an axis; zero of them when none is labelled."""
    labelled = [case for case in predictions.cases if case.labels.get(axis)]
    cases = [case for case in labelled if case.axes.get(axis) and case.axes[axis].ranking]
    classes = _classes(cases, axis)
    number = {id: at for at, id in enumerate(classes)}
    opinions = [case.axes[axis] for case in cases]
    labels = [set(case.labels[axis]) for case in cases]
    truth = np.zeros((len(cases), len(classes)), bool)
    for row, ids in enumerate(labels):
        truth[row, [number[id] for id in ids]] = True
    groups = {name: at for at, name in enumerate(dict.fromkeys(case.group for case in cases))}
    return Scored(
        axis=axis,
        cases=tuple(cases),
        unanswered=len(labelled) - len(cases),
        classes=classes,
        truth=truth,
        predicted=np.array([number[o.ranking[0][0]] for o in opinions], np.int64),
        confidence=np.array([o.ranking[0][1] for o in opinions], float),
        place=np.array([_place(o.ranking, ids) for o, ids in zip(opinions, labels, strict=True)], np.int64),
        answered=np.array([bool(o.answer) for o in opinions], bool),
        answer_right=np.array(
            [bool(ids & {*o.answer}) for o, ids in zip(opinions, labels, strict=True)], bool
        ),
        set_size=np.array([len(o.answer_set) for o in opinions], np.int64),
        set_right=np.array(
            [bool(ids & {*o.answer_set}) for o, ids in zip(opinions, labels, strict=True)], bool
        ),
        group=np.array([groups[case.group] for case in cases], np.int64),
    )


def _classes(cases: Sequence[CasePrediction], axis: str) -> tuple[str, ...]:
    """The ids that occur, in the order of a natural reading ("D.1.2" before "D.1.10")."""
    seen = {id for case in cases for id in case.labels[axis]} | {
        id for case in cases for id, _ in case.axes[axis].ranking
    }
    return tuple(sorted(seen, key=_natural))


def _natural(id: str) -> list[tuple[int, int, str]]:
    """Numbers by size, words before them, "other" behind all."""
    return [
        (1, int(part), "") if part.isdigit() else (2 if part == "other" else 0, 0, part)
        for part in id.split(".")
    ]


def _place(ranking: Sequence[tuple[str, float]], right: set[str]) -> int:
    return next((at for at, (id, _) in enumerate(ranking) if id in right), UNRANKED)


BINS = 10


def share(values: npt.NDArray[np.generic], among: npt.NDArray[np.generic], weights: Array) -> Array:
    """Weighted share of `values` in `among`, both (n,); NaN where `among` is empty."""
    of = weights @ among.astype(float)
    part = weights @ (values.astype(float) * among.astype(float))
    return np.asarray(np.divide(part, of, out=np.full(len(weights), np.nan), where=of > 0))


def top1(s: Scored, weights: Array) -> Array:
    """Share of cases whose most probable id is one of their labels."""
    return share(s.hit1, np.ones(len(s)), weights)


def top3(s: Scored, weights: Array) -> Array:
    """Share of cases with a label among the three most probable ids."""
    return share(s.hit3, np.ones(len(s)), weights)


def class_counts(s: Scored, weights: Array) -> tuple[Array, Array, Array]:
    """True positives, false positives and misses of each class, (B, C).

    A case with several labels is credited to the one that was hit; only when none was, each counts as missed.
    """
    said = np.zeros_like(s.truth)
    said[np.arange(len(s)), s.predicted] = True
    missed = s.truth & ~s.hit1[:, None]
    counted = (said & s.truth, said & ~s.truth, missed)
    found, wrong, lost = (weights @ one.astype(float) for one in counted)
    return found, wrong, lost


def f1_of(found: Array, wrong: Array, lost: Array) -> Array:
    """F1 of each class, elementwise; NaN for classes that no label names."""
    below = 2 * found + wrong + lost
    return np.asarray(np.divide(2 * found, below, out=np.full_like(found, np.nan), where=(found + lost) > 0))


def macro_f1(s: Scored, weights: Array) -> Array:
    """Mean F1 over the classes that occur among the labels."""
    f1 = f1_of(*class_counts(s, weights))
    known = ~np.isnan(f1)
    total, count = np.where(known, f1, 0).sum(axis=1), known.sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def coverage(s: Scored, weights: Array) -> Array:
    """Share of cases in which something is claimed, at the system's own threshold."""
    return share(s.answered, np.ones(len(s)), weights)


def precision(s: Scored, weights: Array) -> Array:
    """Share of claims that are right."""
    return share(s.answer_right, s.answered, weights)


def bin_of(confidence: Array) -> npt.NDArray[np.int64]:
    """The bin of equal width that each confidence falls into, 0 to BINS - 1."""
    return np.minimum((confidence * BINS).astype(np.int64), BINS - 1)


def ece(s: Scored, weights: Array) -> Array:
    """Expected calibration error of the top id: mean distance of confidence and accuracy over bins of equal width.

    After Guo et al., "On Calibration of Modern Neural Networks" (2017), section 2. NaN without probabilities.
    """
    if not s.confidence.any():
        return np.full(len(weights), np.nan)
    gap = (s.confidence - s.hit1)[:, None] * np.eye(BINS)[bin_of(s.confidence)]
    return np.asarray(np.abs(weights @ gap).sum(axis=1) / weights.sum(axis=1))


def aurc(s: Scored, weights: Array) -> Array:
    """Area under the risk-coverage curve: mean error among the most confident, over every depth; less is better.

    After Geifman, Uziel and El-Yaniv (2019). Equal confidences keep the order of the cases.
    NaN without probabilities.
    """
    if not s.confidence.any():
        return np.full(len(weights), np.nan)
    order = np.argsort(-s.confidence, kind="stable")
    ranked = weights[:, order]
    depth = np.cumsum(ranked, axis=1)
    errors = np.cumsum(ranked * ~s.hit1[order], axis=1)
    risk = np.divide(errors, depth, out=np.zeros_like(errors), where=depth > 0)
    return np.asarray((risk * ranked).sum(axis=1) / ranked.sum(axis=1))


def set_size(s: Scored, weights: Array) -> Array:
    """Mean number of ids in the answer set."""
    return share(s.set_size, s.set_size > 0, weights)


def set_coverage(s: Scored, weights: Array) -> Array:
    """Share of answer sets that hold a label."""
    return share(s.set_right, s.set_size > 0, weights)


def same_symptom(s: Scored, weights: Array) -> Array:
    """Mean share of the neighbours shown (three at most) that have a symptom of the case; for the axis symptom."""
    shares = [
        np.mean([bool({*near.symptom} & {*case.labels["symptom"]}) for near in case.neighbours])
        if case.neighbours
        else np.nan
        for case in s.cases
    ]
    values = np.array(shares, float)
    shown = ~np.isnan(values)
    return share(np.where(shown, values, 0), shown, weights)


Metric = Callable[[Scored, Array], Array]
METRICS: Mapping[str, Metric] = {
    "top1": top1,
    "top3": top3,
    "macro_f1": macro_f1,
    "coverage": coverage,
    "precision": precision,
    "ece": ece,
    "aurc": aurc,
    "set_size": set_size,
    "set_coverage": set_coverage,
}
"""The headline figures of every axis; docs/evaluation.md explains each."""


# Bootstrap intervals: groups are drawn with replacement, never parts of one (Efron and Tibshirani, 1993).

REPLICATES = 1000
_SEED = 20230101
_Z = 1.96


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval; `value` None = nothing could be scored."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0

    def __str__(self) -> str:
        """ "0.78 (0.72-0.83)", or a dash."""
        if self.value is None:
            return "–"
        return (
            f"{self.value:.2f}" if self.low is None else f"{self.value:.2f} ({self.low:.2f}–{self.high:.2f})"
        )


def wilson(hits: int, n: int) -> Estimate:
    """A share with Wilson's 95 % interval (1927); a dash where there is nothing."""
    if not n:
        return Estimate(None)
    share, count = np.array([hits / n, 1 - hits / n]), np.array([n, n])
    low, rest = lower_bound(share, count, _Z)
    return Estimate(hits / n, float(low), float(1 - rest), n)


def group_weights(group: npt.NDArray[np.int64], replicates: int = REPLICATES) -> Array:
    """How often each case counts in each replicate, (replicates, n); the same draws for the same groups."""
    if not len(group):
        return np.zeros((replicates, 0))
    groups = int(group.max()) + 1
    drawn = np.random.default_rng(_SEED).multinomial(groups, np.full(groups, 1 / groups), size=replicates)
    return drawn[:, group].astype(float)


def estimate(metric: Metric, s: Scored, weights: Array) -> Estimate:
    """The figure and its percentile interval over `weights` (`group_weights` of the cases); a single group has none."""
    if not len(s):
        return Estimate(None)
    value = float(metric(s, np.ones((1, len(s))))[0])
    if np.isnan(value):
        return Estimate(None, n=len(s))
    if (weights == 1).all():
        return Estimate(value, n=len(s))
    drawn = metric(s, weights)
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return Estimate(value, float(low), float(high), len(s))


def share_of(hits: Sequence[bool], groups: Sequence[int]) -> Estimate:
    """A share and its percentile interval, groups drawn as a whole, in their order; a dash where there is nothing."""
    if not hits:
        return Estimate(None)
    values = np.array(hits, float)
    numbered = np.unique(groups, return_inverse=True)[1].astype(np.int64)
    low, high = np.percentile(share(values, np.ones(len(values)), group_weights(numbered)), [2.5, 97.5])
    return Estimate(float(values.mean()), float(low), float(high), len(values))
