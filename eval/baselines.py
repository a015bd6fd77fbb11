"""Simple systems to stand beside: what is most frequent, words alone, vectors alone, nearest cases alone.

All but the first are calibrated like the judge, so that a difference is one of what they see, not of how.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from eval.protocol import SCORED, Opinion, TrainingSet, Verdict
from knowledge.errors import UserError
from knowledge.judging.axes import Judged, axis_ids, labels_of
from knowledge.judging.blocks import Weighting, gram_of
from knowledge.judging.calibrate import answer_set_size, combine, fit_mass, fit_threshold, fit_weights
from knowledge.judging.features import Features
from knowledge.judging.learner import TARGET_COVERAGE, TARGET_PRECISION
from knowledge.judging.retrieve import CaseIndex
from knowledge.judging.ridge import fit_ridge, invert
from knowledge.taxonomy import Taxonomy
from knowledge.training.items import Prepared, index_of
from knowledge.triage import CaseLabels

Array = npt.NDArray[np.float64]
Blocks = Literal["words", "vectors"]
NEAREST = 12
_PENALTY = 1.0
"""As usual for kernels of unit diagonal; not searched."""


def _targets(items: Sequence[Prepared], axis: Judged, taxonomy: Taxonomy) -> tuple[list[int], Array]:
    """Rows that have labels on the axis, and their right ids as shares that sum to 1 (rows, ids)."""
    ids = axis_ids(taxonomy, axis)
    rows, out = [], []
    for row, item in enumerate(items):
        labels = labels_of(item.record.labels, axis)
        if labels:
            rows.append(row)
            out.append([(id in labels) / len(labels) for id in ids])
    return rows, np.array(out, float).reshape(len(rows), len(ids))


class Majority:
    """Ranks ids by how frequent they are among what is labelled closely; claims nothing."""

    name = "majority"

    def __init__(self) -> None:
        self._verdict = Verdict({})

    def fit(self, train: TrainingSet) -> None:
        """Count labels."""
        closely = [item for item in train.learn if item.record.calibrates]
        axes: dict[Judged, Opinion] = {}
        for axis in SCORED:
            ids = axis_ids(train.taxonomy, axis)
            share = _targets(closely, axis, train.taxonomy)[1].sum(axis=0) + 1e-6
            share /= share.sum()
            order = np.argsort(-share, kind="stable")
            axes[axis] = Opinion(tuple((ids[i], float(share[i])) for i in order))
        self._verdict = Verdict(axes)

    def rank(self, items: Sequence[Prepared]) -> list[Verdict]:
        """The same for every report."""
        return [self._verdict for _ in items]


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


def _calibrated(
    axis: Judged, ids: tuple[str, ...], held_out: Array, hits: Array
) -> tuple[tuple[float, ...], float, float]:
    scale = fit_weights([held_out], hits, (5.0,))
    p = combine([held_out], scale)
    return scale, fit_threshold(p, hits, TARGET_PRECISION[axis]), fit_mass(p, hits, TARGET_COVERAGE)


class Ridge:
    """Kernel ridge regression on one view: TF-IDF words ("tfidf"), or sentence vectors ("minilm")."""

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
            rows, targets = _targets(train.learn, axis, train.taxonomy)
            items = [train.learn[row] for row in rows]
            weights = np.array([item.record.weight for item in items])
            groups = [item.record.group for item in items]
            fit = fit_ridge(invert(gram[np.ix_(rows, rows)], weights, _PENALTY), targets, weights, groups)
            closely = [at for at, item in enumerate(items) if item.record.calibrates]
            scale, threshold, mass = _calibrated(
                axis, ids, fit.held_out[closely], (targets[closely] > 0).astype(float)
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


class Nearest:
    """The labels of the nearest cases, weighted by how near they are; claims nothing."""

    name = "knn"

    def __init__(self) -> None:
        self._index: CaseIndex | None = None
        self._labels: dict[str, CaseLabels] = {}
        self._prior: Mapping[Judged, Mapping[str, float]] = {}

    def fit(self, train: TrainingSet) -> None:
        """Index the corpus; ids that no near case has are ranked by how frequent they are."""
        self._index = index_of(train.corpus)
        self._labels = {p.record.report.id: p.record.labels for p in train.corpus}
        common = Majority()
        common.fit(train)
        self._prior = {axis: dict(o.ranking) for axis, o in common.rank(train.learn[:1])[0].axes.items()}

    def rank(self, items: Sequence[Prepared]) -> list[Verdict]:
        """Let the nearest cases vote on each axis."""
        return [self._verdict(item) for item in items]

    def _verdict(self, item: Prepared) -> Verdict:
        assert self._index is not None, "fit comes first"
        hits = self._index.search(item.reading, item.features, NEAREST)
        return Verdict(
            {axis: Opinion(self._votes(hits, axis)) for axis in self._prior}, tuple(id for id, _ in hits[:3])
        )

    def _votes(self, hits: Sequence[tuple[str, float]], axis: Judged) -> tuple[tuple[str, float], ...]:
        votes = {id: 0.1 * p for id, p in self._prior[axis].items()}
        for id, score in hits:
            labels = labels_of(self._labels[id], axis)
            for label in labels:
                votes[label] += score**2 / len(labels)
        total = sum(votes.values())
        return tuple(sorted(((id, v / total) for id, v in votes.items()), key=lambda pair: -pair[1]))


BASELINES: Mapping[str, Callable[[], Majority | Ridge | Nearest]] = {
    "majority": Majority,
    "tfidf": lambda: Ridge("tfidf", "words"),
    "minilm": lambda: Ridge("minilm", "vectors"),
    "knn": Nearest,
}


def baseline(name: str) -> Majority | Ridge | Nearest:
    """A baseline by its name. UserError when there is none of it."""
    if name not in BASELINES:
        raise UserError(f"There is no system {name!r}.", f"Use some of: distriage, {', '.join(BASELINES)}.")
    return BASELINES[name]()
