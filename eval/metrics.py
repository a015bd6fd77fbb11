"""Every metric as a function of case weights, so that one definition gives the figure and its bootstrap interval.

Weights are float64 (B, n): row b says how often each case counts in replicate b; a row of ones gives the figure
itself. Each metric returns (B,), NaN where nothing can be said (no answer claimed, no answer set given).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from eval.scored import Scored

Array = npt.NDArray[np.float64]
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
