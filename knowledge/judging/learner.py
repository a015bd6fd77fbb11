"""Learning the judge: ridge heads over three kernels, coupled and calibrated on held-out predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from knowledge.judging.axes import COUPLED, JUDGED, Judged, axis_ids
from knowledge.judging.blocks import SPARSE, Weighting, gram_of
from knowledge.judging.calibrate import Calibration, combine, fit_mass, fit_threshold, fit_weights
from knowledge.judging.features import Features, Floats
from knowledge.judging.judge import AxisHead, Judge, sources
from knowledge.judging.ridge import RidgeFit, fit_ridge, invert
from knowledge.taxonomy import Taxonomy

Array = npt.NDArray[np.float64]

TARGET_PRECISION: Mapping[Judged, float] = {
    "type": 0.90,
    "distributed": 0.85,
    "stage": 0.90,
    "symptom": 0.85,
    "cause": 0.75,
    "fix": 0.70,
    "topic": 0.70,
}
"""What share of claimed answers should be right; below it the answer is "cannot tell"."""
TARGET_COVERAGE = 0.90
"""Share of cases whose answer set should hold a right id."""
PENALTY = 1.0
"""Ridge penalty of every axis; figures change little between a third and twice of it (docs/evaluation.md)."""
BLOCKS: Mapping[Judged, tuple[str, ...]] = {
    axis: (("vectors", "words", "cues", "form") if axis == "type" else ("vectors", "words", "cues"))
    for axis in JUDGED
}
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


@dataclass(frozen=True, slots=True)
class TrainingItem:
    """A labelled report as the learner sees it.

    `group` names the issue: items of one group are left out together. `calibrates` marks labels that are good
    enough to set probabilities and thresholds by.
    """

    group: str
    features: Features
    labels: Mapping[Judged, tuple[str, ...]]
    votes: Mapping[Judged, Array]
    """Votes of the nearest cases, none of the item's own group: (ids,) per axis; empty where it was not asked."""
    weight: float
    calibrates: bool


def learn(items: Sequence[TrainingItem], taxonomy: Taxonomy) -> Judge:
    """Fit every axis; deterministic. Axes are fitted in an order such that the coupled ones find their input."""
    weighting = Weighting.of([item.features for item in items])
    grams = _Grams(items, weighting)
    heads: dict[Judged, AxisHead] = {}
    held: dict[Judged, Array] = {}
    for axis in COUPLED:
        ids = axis_ids(taxonomy, axis)
        rows = np.array([n for n, item in enumerate(items) if item.labels.get(axis)])
        labelled = [items[n] for n in rows]
        weights = np.array([item.weight for item in labelled])
        inverse = grams.inverse(BLOCKS[axis], rows, weights)
        fit = fit_ridge(inverse, _targets(labelled, ids, axis), weights, [item.group for item in labelled])
        # Whoever calibrates another axis needs this one's score, too, labelled on it or not.
        full = np.tile(fit.prior, (len(items), 1))
        others = np.setdiff1d(np.arange(len(items)), rows)
        full[others] += grams.total(BLOCKS[axis])[np.ix_(others, rows)] @ fit.alpha
        full[rows] = fit.held_out
        held[axis] = full
        primal = _weights([item.features for item in labelled], weighting, BLOCKS[axis], fit)
        heads[axis] = AxisHead(ids, fit.prior.astype(np.float32), primal, Calibration(START[axis], 0.0, 1.0))
    return Judge(weighting, _calibrated(items, heads, held, taxonomy), taxonomy)


def _calibrated(
    items: Sequence[TrainingItem],
    heads: Mapping[Judged, AxisHead],
    held: Mapping[Judged, Array],
    taxonomy: Taxonomy,
) -> dict[Judged, AxisHead]:
    """The heads with weights of their score sources, thresholds and answer-set mass, from held-out scores."""
    out: dict[Judged, AxisHead] = {}
    symptom: Array | None = None
    for axis in COUPLED:
        head = heads[axis]
        votes = _votes(items, axis, len(head.ids))
        inputs = sources(axis, held[axis], votes, held["stage"], symptom, taxonomy)
        calibration, p = _calibrate(items, axis, head.ids, inputs)
        symptom = p if axis == "symptom" else symptom
        out[axis] = AxisHead(head.ids, head.prior, head.weights, calibration)
    return out


class _Grams:
    """Gram matrices of blocks, their sums, and inverses, each computed once: axes share them."""

    def __init__(self, items: Sequence[TrainingItem], weighting: Weighting) -> None:
        self._features = [item.features for item in items]
        self._weighting = weighting
        self._blocks: dict[str, Array] = {}
        self._totals: dict[tuple[str, ...], Array] = {}
        self._inverses: dict[tuple[tuple[str, ...], bytes], Array] = {}

    def total(self, blocks: tuple[str, ...]) -> Array:
        """Sum of the blocks' Gram matrices over all items."""
        for name in blocks:
            if name not in self._blocks:
                self._blocks[name] = gram_of(self._features, self._weighting, name)
        if blocks not in self._totals:
            self._totals[blocks] = np.asarray(sum(self._blocks[name] for name in blocks))
        return self._totals[blocks]

    def inverse(self, blocks: tuple[str, ...], rows: npt.NDArray[np.int64], weights: Array) -> Array:
        """Inverse of the regularised Gram matrix of these rows."""
        key = (blocks, rows.tobytes())
        if key not in self._inverses:
            self._inverses[key] = invert(self.total(blocks)[np.ix_(rows, rows)], weights, PENALTY)
        return self._inverses[key]


def _targets(items: Sequence[TrainingItem], ids: tuple[str, ...], axis: Judged) -> Array:
    """One row an item: its labels share a weight of one."""
    targets = np.zeros((len(items), len(ids)))
    for row, item in enumerate(items):
        for label in item.labels[axis]:
            targets[row, ids.index(label)] = 1 / len(item.labels[axis])
    return targets


def _weights(
    features: Sequence[Features], weighting: Weighting, blocks: Sequence[str], fit: RidgeFit
) -> dict[str, Floats]:
    """Primal weights of each block: the sum over training items of their features times alpha."""
    alpha = fit.alpha.astype(np.float32)
    out: dict[str, Floats] = {"vectors": np.stack([f.vectors for f in features]).T @ alpha}
    for name in blocks:
        if name == "vectors":
            continue
        block = np.zeros((SPARSE[name], alpha.shape[1]), np.float32)
        for row, item in zip(alpha, features, strict=True):
            unit = weighting.unit(item, name)
            block[unit.index] += unit.weight[:, None] * row
        out[name] = block
    return out


def _votes(items: Sequence[TrainingItem], axis: Judged, size: int) -> Array:
    empty = np.zeros(size)
    return np.stack([item.votes.get(axis, empty) for item in items])


def _calibrate(
    items: Sequence[TrainingItem], axis: Judged, ids: tuple[str, ...], inputs: Sequence[Array]
) -> tuple[Calibration, Array]:
    rows = [n for n, item in enumerate(items) if item.calibrates and item.labels.get(axis)]
    hits = np.zeros((len(rows), len(ids)))
    for at, n in enumerate(rows):
        for label in items[n].labels[axis]:
            hits[at, ids.index(label)] = 1
    chosen = [source[rows] for source in inputs]
    weights = fit_weights(chosen, hits, START[axis]) if len(rows) >= 20 else START[axis]
    probabilities = combine(inputs, weights)
    held_out = probabilities[rows]
    threshold = fit_threshold(held_out, hits, TARGET_PRECISION[axis]) if len(rows) >= 20 else 1.01
    mass = fit_mass(held_out, hits, TARGET_COVERAGE) if len(rows) >= 20 else 0.95
    return Calibration(weights, threshold, mass), probabilities
