"""Learning the judge: ridge heads over three kernels, coupled and calibrated on held-out predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from knowledge.judging.axes import COUPLED, JUDGED, Judged, axis_ids
from knowledge.judging.blocks import SPARSE, Weighting, kernel
from knowledge.judging.calibrate import Calibration, combine, fit_mass, fit_threshold, fit_weights
from knowledge.judging.features import Features, Floats
from knowledge.judging.judge import AxisHead, Judge, sources
from knowledge.judging.ridge import RidgeFit, fit_ridge
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
PENALTY: Mapping[Judged, float] = {
    "type": 0.5,
    "distributed": 1.5,
    "stage": 1.0,
    "symptom": 0.7,
    "cause": 2.0,
    "fix": 2.0,
    "topic": 1.0,
}
BLOCKS: Mapping[Judged, tuple[str, ...]] = {
    axis: (("form", "words", "cues") if axis == "type" else ("words", "cues")) for axis in JUDGED
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
    grams: dict[tuple[str, ...], Array] = {}
    heads: dict[Judged, AxisHead] = {}
    held: dict[Judged, Array] = {}
    for axis in COUPLED:
        ids = axis_ids(taxonomy, axis)
        rows = [n for n, item in enumerate(items) if item.labels.get(axis)]
        if BLOCKS[axis] not in grams:
            grams[BLOCKS[axis]] = kernel([item.features for item in items], weighting, BLOCKS[axis])
        fit = _fit(items, rows, ids, axis, grams[BLOCKS[axis]])
        full = np.tile(fit.prior, (len(items), 1))
        others = np.setdiff1d(np.arange(len(items)), rows)
        full[others] += grams[BLOCKS[axis]][np.ix_(others, np.asarray(rows))] @ fit.alpha
        full[rows] = fit.held_out
        held[axis] = full
        weights = _weights([items[n].features for n in rows], weighting, BLOCKS[axis], fit)
        heads[axis] = AxisHead(ids, fit.prior.astype(np.float32), weights, Calibration(START[axis], 0.0, 1.0))
    probabilities: dict[Judged, Array] = {}
    stage_scores = held["stage"]
    for axis in COUPLED:
        votes = _votes(items, axis, len(heads[axis].ids))
        inputs = sources(axis, held[axis], votes, stage_scores, probabilities.get("symptom"), taxonomy)
        calibration, probabilities[axis] = _calibrate(items, axis, heads[axis].ids, inputs)
        heads[axis] = AxisHead(heads[axis].ids, heads[axis].prior, heads[axis].weights, calibration)
    return Judge(weighting, heads, taxonomy)


def _fit(
    items: Sequence[TrainingItem], rows: list[int], ids: tuple[str, ...], axis: Judged, gram: Array
) -> RidgeFit:
    targets = np.zeros((len(rows), len(ids)))
    for at, n in enumerate(rows):
        labels = items[n].labels[axis]
        for label in labels:
            targets[at, ids.index(label)] = 1 / len(labels)
    weights = np.array([items[n].weight for n in rows])
    groups = [items[n].group for n in rows]
    return fit_ridge(gram[np.ix_(rows, rows)], targets, weights, groups, PENALTY[axis])


def _weights(
    features: Sequence[Features], weighting: Weighting, blocks: Sequence[str], fit: RidgeFit
) -> dict[str, Floats]:
    """Primal weights of each block: the sum over training items of their features times alpha."""
    alpha = fit.alpha.astype(np.float32)
    out: dict[str, Floats] = {"vectors": np.stack([f.vectors for f in features]).T @ alpha}
    for name in blocks:
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
