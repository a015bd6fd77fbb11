"""From scores to probabilities, thresholds and answer sets, on predictions that never saw their case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
CONFIDENT = 1.28
"""Standard errors of a one-sided bound that holds in 90 % of the cases."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How the scores of one axis become an answer.

    `weights`: one per score source; probabilities are softmax(sum of weight x source). `threshold`: the least
    probability with which an answer is claimed (above 1: never). `mass`: ids are taken into the answer set until
    the ones before hold this much.
    """

    weights: tuple[float, ...]
    threshold: float
    mass: float


def softmax(scores: Array) -> Array:
    """Softmax over the last axis."""
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


def combine(sources: Sequence[Array], weights: Sequence[float]) -> Array:
    """Probabilities (n, classes) of weighted score sources, each (n, classes)."""
    return softmax(np.sum([w * s for w, s in zip(weights, sources, strict=True)], axis=0))


def fit_weights(
    sources: Sequence[Array], hits: Array, start: Sequence[float], rounds: int = 40
) -> tuple[float, ...]:
    """Weights that minimise the mean negative log of the probability of any right id (Newton with damping).

    `hits` (n, classes) is 1 where an id is right. A light pull towards `start` keeps few rows from extremes.
    """
    stack = np.stack(sources, axis=-1)  # (n, classes, k)
    origin = np.asarray(start, float)
    weights = origin.copy()
    pull = 2.0 / np.maximum(np.abs(origin), 0.5) ** 2

    def loss(w: Array) -> float:
        p = softmax(stack @ w)
        return float(
            -np.log(np.maximum((p * hits).sum(1), 1e-12)).sum() + 0.5 * (pull * (w - origin) ** 2).sum()
        )

    current = loss(weights)
    for _ in range(rounds):
        p = softmax(stack @ weights)
        right = p * hits
        right /= np.maximum(right.sum(1, keepdims=True), 1e-12)
        mean = np.einsum("nc,nck->nk", p, stack)
        gradient = (mean - np.einsum("nc,nck->nk", right, stack)).sum(0) + pull * (weights - origin)
        spread = np.einsum("nc,nck,ncl->kl", p, stack, stack) - mean.T @ mean + np.diag(pull)
        step = np.linalg.solve(spread, gradient)
        for damping in (1.0, 0.5, 0.25, 0.1, 0.02):
            trial = np.maximum(weights - damping * step, 0.0)
            value = loss(trial)
            if value < current - 1e-9:
                weights, current = trial, value
                break
        else:
            break
    return tuple(float(w) for w in weights)


def fit_threshold(probabilities: Array, hits: Array, target: float, least: int = 15) -> float:
    """The lowest top-1 probability above which the share of right answers is at least `target`, with 90 % confidence.

    What counts is the lower end of Wilson's interval: the cut with the best luck among many would not keep its share
    on new reports. Needs `least` answers; 1.01 (never answer) where no cut reaches the target.
    """
    top = probabilities.argmax(1)
    confidence = probabilities.max(1)
    right = hits[np.arange(len(hits)), top] > 0
    order = np.argsort(-confidence)
    count = np.arange(1, len(order) + 1)
    precision = lower_bound(np.cumsum(right[order]) / count, count)
    # A cut admits every row of its probability, so only the last of equal ones can be one.
    last = np.append(np.diff(confidence[order]) < 0, True)
    good = np.flatnonzero((precision >= target) & last & (count >= least))
    return float(confidence[order[good[-1]]]) if len(good) else 1.01


def lower_bound(share: Array, count: npt.NDArray[np.int64], z: float = CONFIDENT) -> Array:
    """Lower end of Wilson's score interval (1927) of each `share` seen in `count` cases."""
    centre = share + z**2 / (2 * count)
    spread = z * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return np.asarray((centre - spread) / (1 + z**2 / count))


def fit_mass(probabilities: Array, hits: Array, target: float) -> float:
    """The mass that makes answer sets hold a right id in a share `target` of the rows."""
    order = np.argsort(-probabilities, axis=1)
    ranked = np.take_along_axis(probabilities, order, axis=1)
    before = np.cumsum(ranked, axis=1) - ranked
    found = np.take_along_axis(hits, order, axis=1) > 0
    needed = np.where(found, before, np.inf).min(axis=1)
    position = min(len(needed) - 1, int(np.ceil(target * len(needed))) - 1)
    return float(min(0.999, np.sort(needed)[position] + 1e-9))


def answer_set_size(probabilities: Array, mass: float) -> npt.NDArray[np.int64]:
    """How many of the most probable ids make the answer set, per row."""
    ranked = -np.sort(-probabilities, axis=1)
    before = np.cumsum(ranked, axis=1) - ranked
    return np.asarray((before <= mass).sum(axis=1))
