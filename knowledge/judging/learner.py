"""Learning the judge: ridge heads, coupled and calibrated on held-out predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from knowledge.judging.axes import COUPLED, JUDGED, Judged, axis_ids
from knowledge.judging.blocks import COMPARED, SPARSE, Exemplars, Weighting, gram_of, likeness
from knowledge.judging.calibrate import Calibration, combine, fit_mass, fit_threshold, fit_weights
from knowledge.judging.features import Features, Floats
from knowledge.judging.judge import AxisHead, Judge, sources
from knowledge.judging.tuned import TunedHeads
from knowledge.taxonomy import Taxonomy

# Kernel ridge regression on indicator targets, with exact leave-group-out predictions.
#
# Ridge rather than logistic regression: on some two thousand items and thirty classes the two rank alike here, and
# ridge gives every held-out prediction in closed form, so that calibration never sees a fitted point.

Array = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float32] | npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RidgeFit:
    """`alpha` (n, classes): dual weights; `prior` (classes,); `held_out` (n, classes): leave-group-out scores."""

    alpha: Array
    prior: Array
    held_out: Array


def invert(gram: Matrix, weights: Array, penalty: float) -> Matrix:
    """Inverse of the regularised Gram matrix, in its precision; the costly part, shared by axes of the same rows."""
    regularised = gram.copy()
    regularised[np.diag_indices_from(regularised)] += (penalty / weights).astype(gram.dtype)
    factor = _lower_inverse(np.linalg.cholesky(regularised))
    return factor.T @ factor


def _lower_inverse(lower: Matrix) -> Matrix:
    """Inverse of a lower triangular matrix, by halves; numpy would treat it as any matrix, in twice the time."""
    half = len(lower) // 2
    if half < 64:
        return np.linalg.inv(lower)
    inverse = np.zeros_like(lower)
    first, last = _lower_inverse(lower[:half, :half]), _lower_inverse(lower[half:, half:])
    inverse[:half, :half], inverse[half:, half:] = first, last
    inverse[half:, :half] = -last @ (lower[half:, :half] @ first)
    return inverse


def fit_ridge(inverse: Matrix, targets: Array, weights: Array, groups: Sequence[str]) -> RidgeFit:
    """Fit scores = prior + gram @ alpha; rows of `targets` (n, classes) sum to 1, `weights` (n,) are positive.

    Leaving a group out changes its residuals to inv(C_gg) @ alpha_g with C the inverse of the regularised Gram
    matrix (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, section 5.4.2).
    """
    prior = (targets * weights[:, None]).sum(axis=0) / weights.sum()
    alpha = inverse @ (targets - prior)
    held_out = np.empty_like(targets)
    members: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    for rows in members.values():
        residual = np.linalg.solve(inverse[np.ix_(rows, rows)], alpha[rows])
        held_out[rows] = targets[rows] - residual
    return RidgeFit(alpha, prior, held_out)


TARGET_PRECISION: Mapping[Judged, float] = {
    "type": 0.90,
    "distributed": 0.90,
    "stage": 0.90,
    "symptom": 0.85,
    "cause": 0.80,
    "fix": 0.80,
    "topic": 0.80,
}
"""What share of claimed answers should be right; below it the answer is "cannot tell"."""
TARGET_COVERAGE = 0.90
"""Share of cases whose answer set should hold a right id."""
LINEAR: Mapping[Judged, Mapping[str, float]] = {
    "type": {"vectors": 1.0, "title": 1.0, "text": 1.0, "lines": 1.0, "cues": 0.3},
    "distributed": {"vectors": 1.0, "title": 1.0, "text": 1.0, "lines": 1.0, "cues": 1.0},
}
"""Axes whose head is linear, and the share of each block in it: projects' templates are learned line by line, and what
makes a fault distributed is one word rather than the likeness of the whole (docs/evaluation.md)."""
LINEAR_PENALTY = 1.0
PENALTY = 0.4
"""Ridge penalties; figures change little between half and twice of them (docs/evaluation.md)."""
START: Mapping[Judged, tuple[float, ...]] = {
    "type": (8.0,),
    "distributed": (5.0,),
    "stage": (6.0, 0.3),
    "symptom": (10.0, 4.0, 2.0),
    "cause": (8.0, 0.5, 1.0),
    "fix": (8.0, 0.5, 1.0),
    "topic": (8.0,),
}
"""Where the search for the calibration weights starts, and what few rows are pulled towards."""
START_TUNED = 0.5
"""The same for the tuned heads, whose scores are log-probabilities."""


@dataclass(frozen=True, slots=True)
class TrainingItem:
    """A labelled report as the learner sees it.

    `group` names the issue: items of one group are left out together. `calibrates` marks labels that are good
    enough to set probabilities and thresholds by.
    """

    group: str
    features: Features
    labels: Mapping[Judged, Mapping[str, float]]
    """Share of each id in what is right, summing to 1 on an axis; empty where nothing is known."""
    votes: Mapping[Judged, Array]
    """Votes of the nearest cases, none of the item's own group: (ids,) per axis; empty where it was not asked."""
    weight: float
    calibrates: bool


def learn(items: Sequence[TrainingItem], taxonomy: Taxonomy, tuned: TunedHeads) -> Judge:
    """Fit every axis; deterministic. Axes are fitted in an order such that the coupled ones find their input.

    `tuned` is taken as it is; only how much it counts is fitted, on the items that calibrate.
    """
    weighting = Weighting.of([item.features for item in items])
    kernels = _Kernels(items, weighting)
    compared = [n for n, item in enumerate(items) if any(item.labels.get(a) for a in JUDGED if a != "type")]
    place = {n: at for at, n in enumerate(compared)}
    heads: dict[Judged, AxisHead] = {}
    held: dict[Judged, Array] = {}
    for axis in COUPLED:
        ids = axis_ids(taxonomy, axis)
        rows = np.array([n for n, item in enumerate(items) if item.labels.get(axis)])
        labelled = [items[n] for n in rows]
        weights = np.array([item.weight for item in labelled])
        shares = LINEAR.get(axis)
        inverse = kernels.inverse(shares, rows, weights)
        fit = fit_ridge(inverse, _targets(labelled, ids, axis), weights, [item.group for item in labelled])
        full = np.tile(fit.prior, (len(items), 1))
        if shares is None:
            # Whoever calibrates another axis needs this one's score, too, labelled on it or not.
            others = np.setdiff1d(np.arange(len(items)), rows)
            full[others] += kernels.likeness[np.ix_(others, rows)] @ fit.alpha
        full[rows] = fit.held_out
        held[axis] = full
        primal: dict[str, Floats] = {}
        alpha: Floats | None = None
        if shares:
            primal = primal_weights([item.features for item in labelled], weighting, fit, shares)
        else:
            alpha = np.zeros((len(compared), len(ids)), np.float32)
            alpha[[place[n] for n in rows.tolist()]] = fit.alpha
        prior = fit.prior.astype(np.float32)
        heads[axis] = AxisHead(ids, prior, primal, alpha, Calibration(START[axis], 0.0, 1.0))
    exemplars = Exemplars.of([items[n].features for n in compared], weighting)
    return Judge(weighting, exemplars, _calibrated(items, heads, held, taxonomy, tuned), tuned, taxonomy)


def _calibrated(
    items: Sequence[TrainingItem],
    heads: Mapping[Judged, AxisHead],
    held: Mapping[Judged, Array],
    taxonomy: Taxonomy,
    tuned: TunedHeads,
) -> dict[Judged, AxisHead]:
    """The heads with weights of their score sources, thresholds and answer-set mass, from held-out scores."""
    out: dict[Judged, AxisHead] = {}
    symptom: Array | None = None
    vectors = np.stack([item.features.vectors for item in items])
    for axis in COUPLED:
        head = heads[axis]
        votes = _votes(items, axis, len(head.ids))
        inputs = sources(axis, held[axis], votes, held["stage"], symptom, taxonomy)
        told = tuned.scores(axis, vectors)
        start = (*START[axis], *(START_TUNED for _ in told))
        calibration, p = _calibrate(items, axis, head.ids, [*inputs, *told], start)
        symptom = p if axis == "symptom" else symptom
        out[axis] = replace(head, calibration=calibration)
    return out


class _Kernels:
    """Kernel matrices and their inverses, in single precision: the penalty keeps them well conditioned."""

    def __init__(self, items: Sequence[TrainingItem], weighting: Weighting) -> None:
        self._features = [item.features for item in items]
        self._weighting = weighting
        self._inverses: dict[bytes, Matrix] = {}

    @cached_property
    def likeness(self) -> Matrix:
        """Likeness of all items to each other."""
        return likeness(self._gram(self._features, dict.fromkeys(COMPARED, 1.0))).astype(np.float32)

    def inverse(
        self, shares: Mapping[str, float] | None, rows: npt.NDArray[np.int64], weights: Array
    ) -> Matrix:
        """Inverse of the regularised kernel matrix of these rows; axes that compare the same rows share it."""
        if shares:
            gram = self._gram([self._features[row] for row in rows], shares).astype(np.float32)
            return invert(gram, weights, LINEAR_PENALTY)
        key = rows.tobytes()
        if key not in self._inverses:
            self._inverses[key] = invert(self.likeness[np.ix_(rows, rows)], weights, PENALTY)
        return self._inverses[key]

    def _gram(self, features: Sequence[Features], shares: Mapping[str, float]) -> Array:
        return np.asarray(
            sum(share * gram_of(features, self._weighting, name) for name, share in shares.items())
        )


def _targets(items: Sequence[TrainingItem], ids: tuple[str, ...], axis: Judged) -> Array:
    """One row an item: the shares of its labels."""
    targets = np.zeros((len(items), len(ids)))
    for row, item in enumerate(items):
        for label, share in item.labels[axis].items():
            targets[row, ids.index(label)] = share
    return targets


def primal_weights(
    features: Sequence[Features], weighting: Weighting, fit: RidgeFit, shares: Mapping[str, float]
) -> dict[str, Floats]:
    """Primal weights of each block: its share of the sum over training items of their features times alpha."""
    alpha = fit.alpha.astype(np.float32)
    out: dict[str, Floats] = {}
    for name, share in shares.items():
        if name == "vectors":
            out[name] = share * (np.stack([f.vectors for f in features]).T @ alpha)
            continue
        block = np.zeros((SPARSE[name], alpha.shape[1]), np.float32)
        for row, item in zip(alpha, features, strict=True):
            unit = weighting.unit(item, name)
            block[unit.index] += unit.weight[:, None] * row
        out[name] = share * block
    return out


def _votes(items: Sequence[TrainingItem], axis: Judged, size: int) -> Array:
    empty = np.zeros(size)
    return np.stack([item.votes.get(axis, empty) for item in items])


def _calibrate(
    items: Sequence[TrainingItem],
    axis: Judged,
    ids: tuple[str, ...],
    inputs: Sequence[Array],
    start: tuple[float, ...],
) -> tuple[Calibration, Array]:
    rows = [n for n, item in enumerate(items) if item.calibrates and item.labels.get(axis)]
    hits = np.zeros((len(rows), len(ids)))
    for at, n in enumerate(rows):
        for label in items[n].labels[axis]:
            hits[at, ids.index(label)] = 1
    chosen = [source[rows] for source in inputs]
    weights = fit_weights(chosen, hits, start) if len(rows) >= 20 else start
    probabilities = combine(inputs, weights)
    held_out = probabilities[rows]
    threshold = fit_threshold(held_out, hits, TARGET_PRECISION[axis]) if len(rows) >= 20 else 1.01
    mass = fit_mass(held_out, hits, TARGET_COVERAGE) if len(rows) >= 20 else 0.95
    return Calibration(weights, threshold, mass), probabilities
