"""distriage itself as a system under evaluation: refitted in each fold, or as it ships."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.protocol import SCORED, Opinion, TrainingSet, Verdict
from knowledge.judging.axes import Judged
from knowledge.judging.judge import Judge, Judgement, neighbour_votes
from knowledge.judging.learner import learn
from knowledge.judging.retrieve import CaseIndex
from knowledge.judging.settle import ruling_of, settle
from knowledge.judging.tuned import TunedHeads, load_heads
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
