"""Running systems over folds: predictions for every scored case, none of which its system had learned from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from eval.benchmark import Benchmark, EvalCase
from eval.predictions import CasePrediction, Predictions, Shown, axes_of
from eval.protocol import SCORED, System, TrainingSet, Verdict
from eval.splits import Fold
from knowledge.cases import Case, load_cases
from knowledge.judging.axes import labels_of
from knowledge.taxonomy import Taxonomy

EXCERPT = 600
LINES = 4


def run(
    systems: Sequence[System],
    benchmark: Benchmark,
    folds: Sequence[Fold],
    taxonomy: Taxonomy,
    split: str,
    learned_from: str,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Predictions]:
    """Predictions of each system by its name; a case that several folds test counts once, in the first.

    `split` and `learned_from` are told in the predictions; `progress` hears of each system in each fold that is done.
    """
    known = {case.id: case for case in load_cases()}
    done: dict[str, dict[int, CasePrediction]] = {system.name: {} for system in systems}
    for fold in folds:
        train = training_set(benchmark.cases, fold, taxonomy)
        for system in systems:
            system.fit(train)
            items = [benchmark.cases[at] for at in fold.test]
            verdicts = system.rank([item.prepared for item in items])
            for at, item, verdict in zip(fold.test, items, verdicts, strict=True):
                done[system.name].setdefault(at, _prediction(item, verdict, fold.name, known))
            progress(f"{system.name}, {fold.name}")
    return {
        name: Predictions(
            system=name,
            split=split,
            learned_from=learned_from,
            types_only=benchmark.types_only,
            cases=[cases[at] for at in sorted(cases)],
        )
        for name, cases in done.items()
    }


def training_set(cases: Sequence[EvalCase], fold: Fold, taxonomy: Taxonomy) -> TrainingSet:
    """What a fold leaves to learn from."""
    left = [cases[at] for at in fold.train]
    return TrainingSet(
        [case.prepared for case in left], [case.prepared for case in left if case.in_corpus], taxonomy
    )


def _prediction(case: EvalCase, verdict: Verdict, fold: str, known: Mapping[str, Case]) -> CasePrediction:
    record, reading = case.prepared.record, case.prepared.reading
    labels = {axis: list(labels_of(record.labels, axis)) for axis in SCORED}
    return CasePrediction(
        id=record.report.id,
        group=case.group,
        fold=fold,
        source=record.source,
        repository=record.report.id.rpartition("#")[0],
        framework=case.framework,
        title=reading.report.title[:200],
        excerpt=(reading.prose or reading.report.body)[:EXCERPT],
        lines=[d.text[:240] for d in reading.decisive if not d.in_title][:LINES],
        labels={axis: ids for axis, ids in labels.items() if ids},
        axes=axes_of(verdict.axes),
        neighbours=[_shown(known[id]) for id in verdict.neighbours if id in known],
        usage=verdict.usage,
    )


def _shown(case: Case) -> Shown:
    return Shown(id=case.id, url=case.url, title=case.title, symptom=list(labels_of(case.labels, "symptom")))


def sources_of(cases: Sequence[EvalCase]) -> str:
    """How many records of each source there are ("annotated 549, composed 939, ...")."""
    count: dict[str, int] = {}
    for case in cases:
        count[case.prepared.record.source] = count.get(case.prepared.record.source, 0) + 1
    return ", ".join(f"{source} {n}" for source, n in sorted(count.items()))
