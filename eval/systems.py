"""The systems under evaluation: distriage itself, refitted in each fold or as it ships, and simple ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from embeddings.encoder import Encoder
from eval.protocol import SCORED, Opinion, TrainingSet, Verdict
from knowledge.errors import UserError
from knowledge.judging.axes import Judged, axis_ids, labels_of
from knowledge.judging.blocks import Weighting, gram_of
from knowledge.judging.calibrate import answer_set_size, combine, fit_mass, fit_threshold, fit_weights
from knowledge.judging.features import Features, embed
from knowledge.judging.judge import Judge, Judgement, neighbour_votes
from knowledge.judging.learner import TARGET_COVERAGE, TARGET_PRECISION, fit_ridge, invert, learn
from knowledge.judging.retrieve import CaseIndex
from knowledge.judging.settle import ruling_of, settle
from knowledge.judging.tuned import TunedHeads, load_heads
from knowledge.taxonomy import Taxonomy
from knowledge.training.items import VOTERS, Prepared, index_of, training_items
from knowledge.triage import CaseLabels

SHOWN = 3
"""Neighbours that are scored: the share of the three nearest that have the report's symptom."""
_OF_A_FAULT = ("distributed", "stage", "symptom", "cause", "fix")


@dataclass(frozen=True, slots=True)
class Judging:
    """All that judging a prepared report needs; the same steps as knowledge.engine takes."""

    judge: Judge
    index: CaseIndex
    labels: Mapping[str, CaseLabels]

    def verdict(self, item: Prepared) -> Verdict:
        """Judge one report and find its nearest cases, its own issue left out."""
        own = [id for id in (item.record.report.id,) if id in self.labels]
        hits = self.index.search(item.reading, item.features, VOTERS, leave_out=own)
        votes = neighbour_votes([(self.labels[id], score) for id, score in hits], self.judge.taxonomy)
        judged = settle(self.judge.judge(item.features, votes), ruling_of(item.reading), self.judge.taxonomy)
        kind = judged["type"].ranking[0][0]
        shown = sorted((id for id, _ in hits[:12]), key=lambda id: self.labels[id].type != kind)
        return Verdict(
            opinions_of(judged),
            tuple(shown[:SHOWN]),
        )


def opinions_of(judged: Mapping[Judged, Judgement]) -> dict[Judged, Opinion]:
    """What is scored of a judgement, with the claims that the triage makes of it."""
    fault = judged["type"].ranking[0][0] == "fault"
    return {axis: _opinion(judged[axis], axis, fault=fault) for axis in SCORED}


def _opinion(judgement: Judgement, axis: Judged, *, fault: bool) -> Opinion:
    """As the triage shows it: of what it does not take for a fault, it claims no symptom and no fix."""
    claims = fault or axis not in _OF_A_FAULT
    return Opinion(
        tuple(judgement.ranking),
        tuple(judgement.answer) if claims else (),
        tuple(judgement.answer_set),
    )


class Refitted:
    """distriage with index, weighting, heads and calibration made anew from each fold's training set."""

    name = "distriage"

    def __init__(self, tuned: TunedHeads | None = None) -> None:
        """`tuned`: heads learned with the encoder (None = the shipped ones); no fold learns them anew."""
        self.judging: Judging | None = None
        self._tuned = tuned

    def fit(self, train: TrainingSet) -> None:
        """Learn everything from `train`."""
        self._tuned = self._tuned or load_heads(train.taxonomy)
        judge = learn(training_items(train.learn, train.corpus, train.taxonomy), train.taxonomy, self._tuned)
        labels = {p.record.report.id: p.record.labels for p in train.corpus}
        self.judging = Judging(judge, index_of(train.corpus), labels)

    def rank(self, items: Sequence[Prepared]) -> list[Verdict]:
        """Judge each report."""
        assert self.judging is not None, "fit comes first"
        return [self.judging.verdict(item) for item in items]


class Shipped:
    """distriage as it ships: its judge and its index, for records that it never saw."""

    name = "distriage"

    def __init__(self, judging: Judging) -> None:
        self.judging = judging

    def fit(self, train: TrainingSet) -> None:
        """Nothing: what ships is what is scored."""

    def rank(self, items: Sequence[Prepared]) -> list[Verdict]:
        """Judge each report."""
        return [self.judging.verdict(item) for item in items]


# Ridge regression on one view of a report, calibrated as the judge is: words alone, or sentence vectors alone.

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


# Simple systems to stand beside: what is most frequent, words alone, vectors alone, nearest cases alone.
#
# All but the first are calibrated like the judge, so that a difference is one of what they see, not of how.

NEAREST = 12


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
            share = targets(closely, axis, train.taxonomy)[1].sum(axis=0) + 1e-6
            share /= share.sum()
            order = np.argsort(-share, kind="stable")
            axes[axis] = Opinion(tuple((ids[i], float(share[i])) for i in order))
        self._verdict = Verdict(axes)

    def rank(self, items: Sequence[Prepared]) -> list[Verdict]:
        """The same for every report."""
        return [self._verdict for _ in items]


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


class Plain:
    """Ridge regression on the vectors of all-MiniLM-L6-v2 as it was published, nothing added."""

    name = "minilm"

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._ridge = Ridge("minilm", "vectors")

    def fit(self, train: TrainingSet) -> None:
        """Fit every axis on the training set."""
        self._ridge.fit(TrainingSet(self._embedded(train.learn), train.corpus, train.taxonomy))

    def rank(self, items: Sequence[Prepared]) -> list[Verdict]:
        """Score each report against the training set."""
        return self._ridge.rank(self._embedded(items))

    def _embedded(self, items: Sequence[Prepared]) -> list[Prepared]:
        pairs = embed([item.reading for item in items], self._encoder)
        return [
            replace(item, features=replace(item.features, vectors=pair))
            for item, pair in zip(items, pairs, strict=True)
        ]


Baseline = Majority | Ridge | Nearest | Plain
BASELINES: Mapping[str, Callable[[Callable[[], Encoder]], Baseline]] = {
    "majority": lambda _: Majority(),
    "tfidf": lambda _: Ridge("tfidf", "words"),
    "minilm": lambda plain: Plain(plain()),
    "knn": lambda _: Nearest(),
}


def baseline(name: str, plain: Callable[[], Encoder]) -> Baseline:
    """A baseline by its name; `plain` opens the encoder as it was published. UserError when there is none of it."""
    if name not in BASELINES:
        raise UserError(f"Unknown system {name!r}.", f"Choose from: distriage, {', '.join(BASELINES)}.")
    return BASELINES[name](plain)
