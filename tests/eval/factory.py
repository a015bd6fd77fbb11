"""Predictions and prepared records made by hand."""

from collections.abc import Mapping, Sequence

from eval.benchmark import EvalCase
from eval.protocol import AxisPrediction, CasePrediction, Origin, Predictions, Shown
from knowledge.judging.tuned import TunedHeads
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from knowledge.training.items import Prepared, prepare
from knowledge.training.records import TrainingRecord
from knowledge.triage import CaseLabels
from tests.embeddings.fake_encoder import FakeEncoder

UNTAUGHT = TunedHeads({}, {})
"""For the fake encoder, whose vectors mean nothing."""
MADE = Origin(
    made="2026-11-23 10:00 UTC",
    version="distriage 0.2.0",
    commit="0123abcd",
    command="bot eval --report out/",
    data="by hand; 40 cases",
)


def predicted(
    id: str,
    labels: Sequence[str],
    ranking: Mapping[str, float],
    *,
    axis: str = "symptom",
    claimed: bool = True,
    answer_set: Sequence[str] = (),
    group: str | None = None,
    near: Sequence[Sequence[str]] = (),
    title: str = "a title",
) -> CasePrediction:
    """A case with an opinion on one axis; `near` are the symptoms of its neighbours."""
    ids = list(ranking.items())
    return CasePrediction(
        id=id,
        group=group or id,
        fold="fold 1",
        source="human",
        repository=id.rpartition("#")[0],
        framework="horovod",
        title=title,
        excerpt="what happened",
        lines=["RuntimeError: boom"],
        labels={axis: list(labels)},
        axes={
            axis: AxisPrediction(
                ranking=ids, answer=[ids[0][0]] if claimed else [], answer_set=list(answer_set)
            )
        },
        neighbours=[
            Shown(id=f"n#{at}", url="https://github.com/o/r/issues/1", title="near", symptom=list(s))
            for at, s in enumerate(near)
        ],
    )


def run_of(cases: Sequence[CasePrediction], system: str = "distriage") -> Predictions:
    return Predictions(system=system, split="by hand", learned_from="nothing", cases=list(cases))


def record(id: str, title: str, body: str = "", source: str = "human", **labels: object) -> TrainingRecord:
    return TrainingRecord(
        Report(id, title, body),
        CaseLabels.model_validate({"type": "fault"} | labels),
        1.0,
        source in ("human", "pass", "given"),
        source,
    )


def prepared(*records: TrainingRecord) -> list[Prepared]:
    return prepare(records, SignatureTable(), FakeEncoder())


def eval_case(record: TrainingRecord, *, group: str | None = None, opened: str | None = None) -> EvalCase:
    one = prepared(record)[0]
    return EvalCase(
        one,
        group or record.group,
        record.source in ("human", "pass", "given"),
        record.source not in ("composed", "given"),
        opened,
    )
