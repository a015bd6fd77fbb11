"""Fitting the ranking and the verifier; a dozen numbers each, none of them negative where more means more alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from knowledge.history.pairs import NAMES
from knowledge.history.verifier import SHOWN, VERIFIED, WORTH_READING, Weights, has_reason, sigmoid, verified

Array = npt.NDArray[np.float64]

TARGET_PRECISION = 0.90
"""Share of the matches shown that must be marked as the same."""
SHIPPED_PRECISION = 0.95
"""The same where the shipped threshold is fitted, with a margin: it must hold on trackers that taught nothing."""
LEAST = 10
"""Matches needed on one side of a threshold before it says anything."""
RANK_PENALTY = 0.1
VERIFY_PENALTY = 10.0
"""Of a column of unit variance."""
NEVER = 1.01
_ROUNDS = 60


@dataclass(frozen=True, slots=True)
class Compared:
    """A report compared with its candidates."""

    group: str
    """Reports of one group are left out together."""
    source: str
    pairs: Array
    """(candidates, len(NAMES))"""
    tells: Array
    """(candidates, len(TELLING))"""
    right: npt.NDArray[np.bool_]
    """(candidates,): those marked as the same failure; what the ranking learns and is scored by."""
    same: npt.NDArray[np.bool_]
    """(candidates,): those that are the same, marked or judged so by a reader; what the verifier learns."""
    has_earlier: bool
    """An earlier report of its group exists, among the candidates or not."""
    weight: float = 1.0
    confirmed: npt.NDArray[np.bool_] | None = None
    """(candidates,): those that an LLM found to be the same, which read both texts; None = none was asked."""
    complete: bool = True
    """People mark duplicates there, or readers went through the likeliest pairs, so that any other pair is probably not
    the same; the verifier needs that."""


def fit(reports: Sequence[Compared]) -> Weights:
    """Ranking, verifier and threshold from all reports; the threshold on predictions held out by group."""
    rank = fit_rank(reports)
    verify = fit_verify(reports, rank)
    found = [one for r, one in zip(reports, held_out(reports), strict=True) if r.complete]
    return Weights(tuple(rank), tuple(verify), fit_threshold(found, SHIPPED_PRECISION))


def fit_rank(reports: Sequence[Compared]) -> Array:
    """Weights that put a marked report first: penalised conditional logistic regression (a softmax for each report)."""
    taught = [r for r in reports if r.right.any()]
    free = list(range(len(NAMES)))
    while True:
        w = np.zeros(len(NAMES))
        w[free] = _newton(taught, free)
        # More alike must never count against a pair: a negative weight here is noise of a small sample.
        kept = [n for n in free if w[n] > 0]
        if len(kept) == len(free) or not kept:
            return np.asarray(np.round(np.maximum(w, 0), 4), np.float64)
        free = kept


def _newton(taught: Sequence[Compared], free: Sequence[int]) -> Array:
    parts = [(r.pairs[:, free], r.right / r.right.sum(), r.weight) for r in taught]

    def loss(w: Array) -> float:
        total = RANK_PENALTY * float(w @ w) / 2
        for x, y, weight in parts:
            s = x @ w
            top = float(s.max())
            total += weight * (top + float(np.log(np.exp(s - top).sum())) - float(y @ s))
        return total

    w = np.zeros(len(free))
    now = loss(w)
    for _ in range(_ROUNDS):
        gradient, curve = RANK_PENALTY * w, RANK_PENALTY * np.eye(len(w))
        for x, y, weight in parts:
            s = x @ w
            p = np.exp(s - s.max())
            p /= p.sum()
            mean = p @ x
            gradient = gradient + weight * (mean - y @ x)
            curve = curve + weight * ((x * p[:, None]).T @ x - np.outer(mean, mean))
        step = np.linalg.solve(curve, gradient)
        size = 1.0
        while size > 1e-6 and loss(w - size * step) > now:
            size /= 2
        w = w - size * step
        before, now = now, loss(w)
        if before - now < 1e-7:
            break
    return w


def fit_verify(reports: Sequence[Compared], rank: Array) -> Array:
    """Logistic regression over the best few candidates of every report, those without a marked one included."""
    return fit_pairs(*pairs_taught([r for r in reports if r.complete], rank))


def pairs_taught(reports: Sequence[Compared], rank: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The verifier's view of the best few candidates of each report, and which of them are the same."""
    found = [(seen, r.same[best]) for r in reports for best, seen in [_best(r, rank)]]
    rows = [np.zeros((0, len(VERIFIED))), *(seen for seen, _ in found)]
    return np.concatenate(rows), np.concatenate([np.zeros(0, bool), *(same for _, same in found)])


def fit_pairs(x: Array, same: npt.NDArray[np.bool_]) -> Array:
    """The logistic regression of `fit_verify`; (pairs, len(VERIFIED)) and whether each is the same."""
    w, y = np.zeros(len(VERIFIED)), same.astype(float)
    if not len(x):
        return w
    penalty = np.diag([1e-6, *VERIFY_PENALTY * x[:, 1:].var(axis=0)]) + 1e-6 * np.eye(len(VERIFIED))
    for _ in range(_ROUNDS):
        p = sigmoid(x @ w)
        gradient = x.T @ (p - y) + penalty @ w
        curve = (x * (p * (1 - p))[:, None]).T @ x + penalty
        step = np.linalg.solve(curve, gradient)
        w = w - step * min(1.0, 3 / max(float(np.abs(step).max()), 1e-9))
        if np.abs(step).max() < 1e-6:
            break
    return np.round(w, 4)


def _best(report: Compared, rank: Array) -> tuple[npt.NDArray[np.int64], Array]:
    """The candidates that could be shown, best first, and the verifier's view of them."""
    if not len(report.pairs):
        return np.zeros(0, np.int64), np.zeros((0, len(VERIFIED)))
    scores = report.pairs @ rank
    best = np.argsort(-scores, kind="stable")[:SHOWN]
    return best, verified(report.pairs, scores, best, report.tells[best])


@dataclass(frozen=True, slots=True)
class Prediction:
    """What weights that never saw a report's group say of it."""

    place: int | None
    """Of the first marked report, counted from 1; None = not among the candidates."""
    p: Array
    """Of the candidates that could be shown, best first."""
    same: npt.NDArray[np.bool_]
    reason: npt.NDArray[np.bool_]
    """Whether more than likeness speaks for them."""
    has_same: bool
    confirmed: npt.NDArray[np.bool_] | None = None
    """Whether an LLM that read both texts found them to be the same."""

    def shown(self, threshold: float, *, read: bool = False) -> npt.NDArray[np.bool_]:
        """What is shown at a threshold; `read`: an LLM is asked about what is worth the reading."""
        shown = self.reason & (self.p >= threshold)
        if not read or self.confirmed is None:
            return shown
        return np.asarray(shown | (self.confirmed & (self.p >= WORTH_READING)))


def held_out(reports: Sequence[Compared], folds: int = 10) -> list[Prediction]:
    """Predictions by weights fitted without the report's group, one for each report."""
    groups = sorted({r.group for r in reports if r.has_earlier}) + sorted(
        {r.group for r in reports if not r.has_earlier}
    )
    fold = {group: n % folds for n, group in enumerate(dict.fromkeys(groups))}
    out: list[Prediction | None] = [None] * len(reports)
    for k in range(folds):
        kept = [r for r in reports if fold[r.group] != k]
        rank = fit_rank(kept)
        verify = fit_verify(kept, rank)
        for n, r in enumerate(reports):
            if fold[r.group] == k:
                out[n] = predict(r, rank, verify)
    return [one for one in out if one is not None]


def predict(report: Compared, rank: Array, verify: Array) -> Prediction:
    """What these weights say of one report."""
    best, seen = _best(report, rank)
    place = None
    if report.right.any():
        order = np.argsort(-(report.pairs @ rank), kind="stable")
        place = int(np.argmax(report.right[order])) + 1
    return Prediction(
        place,
        sigmoid(seen @ verify),
        report.same[best],
        has_reason(report.pairs[best], report.tells[best]),
        bool(report.has_earlier or report.same.any()),
        None if report.confirmed is None else report.confirmed[best],
    )


def fit_threshold(predictions: Sequence[Prediction], target: float = TARGET_PRECISION) -> float:
    """The lowest probability from which on matches are right often enough; above 1 = never.

    Every report of a tracker counts, those without an earlier one as well: most have none.
    """
    told = sorted(
        (
            (float(p), bool(same))
            for one in predictions
            for p, same, reason in zip(one.p, one.same, one.reason, strict=True)
            if reason
        ),
        reverse=True,
    )
    right, threshold = 0, NEVER
    for n, (p, same) in enumerate(told, 1):
        right += same
        tied = n < len(told) and told[n][0] == p
        if n >= LEAST and right / n >= target and not tied:
            threshold = p
    return threshold


@dataclass(frozen=True, slots=True)
class ShownFigures:
    """What is shown at a threshold."""

    matches: int
    right: int
    reports: int
    """Reports that have an earlier one that is the same, marked or judged."""
    reached: int
    """Of these, those that are shown a right one."""


def shown_figures(predictions: Sequence[Prediction], threshold: float, *, read: bool = False) -> ShownFigures:
    """Count what these predictions show; `read`: with an LLM's word on what is worth the reading."""
    shown = [one.shown(threshold, read=read) for one in predictions]
    have = [one.has_same for one in predictions]
    hit = [bool((one.same & seen).any()) for one, seen in zip(predictions, shown, strict=True)]
    return ShownFigures(
        matches=sum(int(seen.sum()) for seen in shown),
        right=sum(int((one.same & seen).sum()) for one, seen in zip(predictions, shown, strict=True)),
        reports=sum(have),
        reached=sum(hit),
    )
