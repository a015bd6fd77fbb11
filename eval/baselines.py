"""Simple systems to stand beside: what is most frequent, words alone, vectors alone, nearest cases alone.

All but the first are calibrated like the judge, so that a difference is one of what they see, not of how.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from embeddings.encoder import Encoder
from eval.protocol import SCORED, Opinion, TrainingSet, Verdict
from eval.ridge_baseline import Ridge, targets
from knowledge.errors import UserError
from knowledge.judging.axes import Judged, axis_ids, labels_of
from knowledge.judging.features import embed
from knowledge.judging.retrieve import CaseIndex
from knowledge.training.items import Prepared, index_of
from knowledge.triage import CaseLabels

Array = npt.NDArray[np.float64]
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
