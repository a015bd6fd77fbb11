"""The blind reader's predictions that ship for comparison."""

from __future__ import annotations

from pathlib import Path

import eval as eval_package
from eval.protocol import read_predictions
from knowledge.judging.axes import axis_ids, labels_of
from knowledge.taxonomy import load_taxonomy
from knowledge.training.records import shipped_records

READER = Path(eval_package.__file__).parent / "reader.json"


def test_it_read_every_human_case_and_is_held_against_its_labels() -> None:
    human = {r.report.id: r.labels for r in shipped_records() if r.source == "human"}
    cases = {case.id: case for case in read_predictions(READER).cases}
    assert set(cases) == set(human)
    for id, labels in human.items():
        for axis in ("type", "stage", "symptom", "cause", "fix"):
            assert set(cases[id].labels.get(axis, [])) == set(labels_of(labels, axis)), (id, axis)


def test_it_ranks_known_ids_by_probability() -> None:
    taxonomy = load_taxonomy()
    for case in read_predictions(READER).cases:
        for axis in ("symptom", "cause", "fix"):
            ranking = case.axes[axis].ranking if axis in case.axes else []
            assert {id for id, _ in ranking} <= set(axis_ids(taxonomy, axis))  # type: ignore[arg-type]
            assert [p for _, p in ranking] == sorted((p for _, p in ranking), reverse=True)
