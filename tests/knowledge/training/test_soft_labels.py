"""The second reader's probabilities: closed ids, texts that are never scored, half of what is learned."""

from __future__ import annotations

import pytest

from knowledge.judging.axes import JUDGED, axis_ids
from knowledge.report import Report
from knowledge.taxonomy import load_taxonomy
from knowledge.training.records import (
    COMPOSED_MORE,
    REPORT_LABELS,
    SOFT_LABELS,
    TrainingRecord,
    composed_records,
    read_jsonl,
    shipped_records,
    target,
)
from knowledge.triage import CaseLabels

STALL = "composed#813"
"""Labelled B.2; the second reader takes D.2.1 for possible."""


def record(id: str, *, calibrates: bool = False, **labels: object) -> TrainingRecord:
    return TrainingRecord(
        Report(id, "", ""),
        CaseLabels.model_validate({"type": "fault", **labels}),
        1.0,
        calibrates,
        "composed",
    )


def test_every_line_gives_shares_of_known_ids() -> None:
    taxonomy = load_taxonomy()
    for row in read_jsonl(SOFT_LABELS):
        assert set(row) - {"id"} <= {"symptom", "cause", "fix"}, row["id"]
        for axis in set(row) - {"id"}:
            assert set(row[axis]) <= set(axis_ids(taxonomy, axis)), row["id"]
            assert all(0 < share <= 1 for share in row[axis].values()), row["id"]
            assert 0.9 < sum(row[axis].values()) < 1.1, row["id"]


def test_no_scored_case_has_soft_labels_and_every_line_has_its_text() -> None:
    ids = [row["id"] for row in read_jsonl(SOFT_LABELS)]
    assert len(ids) == len(set(ids)) > 6000
    known = [*shipped_records(), *composed_records(COMPOSED_MORE)]
    scored = {r.report.id for r in known if r.calibrates}
    learned = {r.report.id for r in known if not r.calibrates} | {r["id"] for r in read_jsonl(REPORT_LABELS)}
    assert not scored & set(ids)
    assert set(ids) <= learned


def test_what_is_learned_is_half_the_label_and_half_the_reader() -> None:
    wanted = target(record(STALL, symptom=["B.2"]), "symptom")
    assert sum(wanted.values()) == pytest.approx(1)
    assert max(wanted, key=wanted.__getitem__) == "B.2"
    assert wanted["D.2.1"] > 0


def test_the_stage_follows_the_readers_symptoms() -> None:
    wanted = target(record(STALL, stage=["B"], symptom=["B.2"]), "stage")
    assert sum(wanted.values()) == pytest.approx(1)
    assert wanted["B"] > wanted["D"] > 0


def test_where_no_label_was_given_the_reader_alone_is_learned() -> None:
    own = next(row for row in read_jsonl(SOFT_LABELS) if row["id"] == STALL)
    wanted = target(record(STALL), "cause")
    assert sum(wanted.values()) == pytest.approx(1)
    assert set(wanted) == set(own["cause"])


def test_a_record_that_calibrates_is_learned_by_its_labels_alone() -> None:
    same = record(STALL, calibrates=True, symptom=["B.2"], distributed=True)
    assert target(same, "symptom") == {"B.2": 1.0}
    assert target(same, "fix") == {}


def test_two_labels_share_and_an_unread_text_keeps_its_labels() -> None:
    unread = record("nobody/read#1", symptom=["B.2", "D.2.1"])
    assert target(unread, "symptom") == {"B.2": 0.5, "D.2.1": 0.5}
    assert all(target(unread, axis) in ({}, {"fault": 1.0}) for axis in JUDGED if axis != "symptom")
