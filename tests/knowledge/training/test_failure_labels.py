"""The labels of which known failure applies: whole, of two passes, and of entries that exist."""

from __future__ import annotations

import json

from knowledge.findings.failure import load_catalogue
from knowledge.findings.matcher import learned_from
from knowledge.report import issue_of
from knowledge.training.matching import CONFIRMED
from knowledge.training.records import LABELS, failure_labels, shipped_records

ROWS = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
BENCHMARK = {one.report.id for one in shipped_records() if one.source in ("human", "pass")}


def test_every_entry_that_is_named_exists() -> None:
    known = set(load_catalogue())
    named = {id for row in ROWS for ids in (row["failures"], *row["passes"]) for id in ids}
    assert named - known == set()
    confirmed = [json.loads(line) for line in CONFIRMED.read_text("utf-8").splitlines()]
    assert {id for row in confirmed for id in (*row["shown"], *row["applies"])} - known == set()


def test_each_case_is_there_once_with_two_passes_and_no_text() -> None:
    assert len(failure_labels()) == len(ROWS)
    assert all(row.keys() == {"id", "failures", "passes"} and len(row["passes"]) == 2 for row in ROWS)


def test_an_entry_counts_where_both_passes_name_it() -> None:
    wrong = [row["id"] for row in ROWS if {*row["failures"]} != {*row["passes"][0]} & {*row["passes"][1]}]
    assert wrong == []


def test_600_real_reports_are_labelled_and_some_show_an_entry() -> None:
    real = [row for row in ROWS if row["id"] not in BENCHMARK]
    assert len(real) >= 600
    assert sum(bool(row["failures"]) for row in real) >= 40


def test_what_the_matcher_learned_from_is_labelled() -> None:
    assert learned_from() <= {issue_of(row["id"]) for row in ROWS}
