"""Ridge regression on one view of a report, calibrated as the judge is: words alone, or sentence vectors alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from eval.protocol import SCORED, Opinion, TrainingSet, Verdict
from knowledge.judging.axes import Judged, axis_ids, labels_of
from knowledge.judging.blocks import Weighting, gram_of
from knowledge.judging.calibrate import answer_set_size, combine, fit_mass, fit_threshold, fit_weights
from knowledge.judging.features import Features
from knowledge.judging.learner import TARGET_COVERAGE, TARGET_PRECISION
from knowledge.judging.ridge import fit_ridge, invert
from knowledge.taxonomy import Taxonomy
from knowledge.training.items import Prepared

Array = npt.NDArray[np.float64]
Blocks = Literal["words", "vectors"]
_PENALTY = 1.0
"""As usual for kernels of unit diagonal; not searched."""


def targets(items: Sequence[Prepared], axis: Judged, taxonomy: Taxonomy) -> tuple[list[int], Array]:
    """Rows that have labels on the axis, and their right ids as shares that sum to 1 (rows, ids)."""
    ids = axis_ids(taxonomy, axis)
    rows, out = [], []
    for row, item in enumerate(items):
        labels = labels_of(item.record.labels, axis)
        if labels:
            rows.append(row)
            out.append([(id in labels) / len(labels) for id in ids])
    return rows, np.array(out, float).reshape(len(rows), len(ids))


@dataclass(frozen=True, slots=True)
class _Fitted:
    ids: tuple[str, ...]
    rows: list[int]
    prior: Array
    alpha: Array
    scale: tuple[float, ...]
    threshold: float
    mass: float

    def opinion(self, scores: Array) -> Opinion:
        p = combine([scores[None, :]], self.scale)
        order = np.argsort(-p[0], kind="stable")
        ranking = tuple((self.ids[i], float(p[0, i])) for i in order)
        size = max(1, int(answer_set_size(p, self.mass)[0]))
        claims = ranking[:1] if ranking[0][1] >= self.threshold else ()
        return Opinion(ranking, tuple(id for id, _ in claims), tuple(id for id, _ in ranking[:size]))


def _calibrated(axis: Judged, held_out: Array, hits: Array) -> tuple[tuple[float, ...], float, float]:
    scale = fit_weights([held_out], hits, (5.0,))
    p = combine([held_out], scale)
    return scale, fit_threshold(p, hits, TARGET_PRECISION[axis]), fit_mass(p, hits, TARGET_COVERAGE)


class Ridge:
    """Kernel ridge regression on one view: TF-IDF words, or sentence vectors."""

    def __init__(self, name: str, view: Blocks) -> None:
        self.name = name
        self._view = view
        self._train: list[Features] = []
        self._weighting = Weighting({})
        self._fitted: dict[Judged, _Fitted] = {}

    def fit(self, train: TrainingSet) -> None:
        """Fit every axis on the training set."""
        self._train = [item.features for item in train.learn]
        self._weighting = Weighting.of(self._train)
        gram = self._gram(self._train)
        for axis in SCORED:
            ids = axis_ids(train.taxonomy, axis)
            rows, wanted = targets(train.learn, axis, train.taxonomy)
            items = [train.learn[row] for row in rows]
            weights = np.array([item.record.weight for item in items])
            groups = [item.record.group for item in items]
            fit = fit_ridge(invert(gram[np.ix_(rows, rows)], weights, _PENALTY), wanted, weights, groups)
            closely = [at for at, item in enumerate(items) if item.record.calibrates]
            scale, threshold, mass = _calibrated(
                axis, fit.held_out[closely], (wanted[closely] > 0).astype(float)
            )
            self._fitted[axis] = _Fitted(ids, rows, fit.prior, fit.alpha, scale, threshold, mass)

    def rank(self, items: Sequence[Prepared]) -> list[Verdict]:
        """Score each report against the training set."""
        known = len(self._train)
        gram = self._gram([*self._train, *(item.features for item in items)])[known:, :known]
        scores = {axis: f.prior + gram[:, f.rows] @ f.alpha for axis, f in self._fitted.items()}
        return [
            Verdict({axis: f.opinion(scores[axis][at]) for axis, f in self._fitted.items()})
            for at in range(len(items))
        ]

    def _gram(self, features: Sequence[Features]) -> Array:
        return gram_of(features, self._weighting, self._view)
