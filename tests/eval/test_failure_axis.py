"""The axis `failure`: what counts as said, as found and as right, what is left out, and how it is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eval import findings
from eval.findings import (
    REAL,
    RETOLD,
    FailureAxis,
    Seen,
    agreement,
    agreement_table,
    axis_rows,
    failures_part,
    failures_text,
    score_failures,
    score_seen,
    see,
)
from eval.summary import DETAILS
from knowledge.engine import Knowledge
from knowledge.findings.failure import cited_issues, load_catalogue
from knowledge.findings.source import FOLDER, read_examples
from knowledge.report import Report
from knowledge.training.records import FailureLabel


def label(*ids: str, second: tuple[str, ...] | None = None) -> FailureLabel:
    passes = (frozenset(ids), frozenset(ids if second is None else second))
    return FailureLabel(passes[0] & passes[1], passes)


def seen(*right: str, order: str = "", sure: str = "", said: str = "") -> Seen:
    """Entries are letters; candidates are as probable as they stand far ahead in `order`."""
    candidates = tuple((id, 0.9 / (n + 1)) for n, id in enumerate(order))
    return Seen(label(*right), candidates, tuple(sure), tuple(said))


FOUR = [
    seen("a", order="abc", sure="ab", said="a"),
    seen("b", order="dcab", sure="d", said=""),
    seen(order="c", sure="c", said="c"),
    seen(order=""),
]


def test_what_is_said_counts_not_what_matches_surely() -> None:
    score = score_seen(FOUR)
    assert (score.coverage.value, score.sure.value) == (0.5, 0.75)
    assert (score.precision.value, score.precision.n) == (0.5, 2)
    assert (score.sure_precision.value, score.sure_precision.n) == (0.25, 4)
    assert score.helped.value == 0.25


def test_an_entry_is_found_among_the_first_three_of_the_cases_that_show_one() -> None:
    score = score_seen(FOUR)
    assert (score.cases, score.with_entry) == (4, 2)
    assert (score.recall_at_3.value, score.recall_at_3.n) == (0.5, 2)
    assert score.top1.value == 0.5
    assert score_seen([seen("b", order="dcb")]).recall_at_3.value == 1.0


def test_a_false_alarm_on_a_case_that_shows_none_costs_precision() -> None:
    right = seen("a", order="a", sure="a", said="a")
    assert score_seen([right]).precision.value == 1.0
    assert score_seen([right, FOUR[2]]).precision.value == 0.5


def test_a_second_finding_counts_for_itself() -> None:
    both = seen("a", order="ab", sure="ab", said="ab")
    score = score_seen([both])
    assert (score.precision.value, score.precision.n, score.helped.value) == (0.5, 2, 1.0)


def test_candidates_probabilities_are_measured() -> None:
    told = score_seen(FOUR).probabilities
    assert told is not None and (told.count, told.base) == (8, 2 / 8)
    assert score_seen([seen()]).probabilities is None


EXAMPLE = read_examples(FOLDER / "nccl" / "nccl-duplicate-gpu.md")[0]
DUPLICATE = Report("acme/train#1", EXAMPLE.title, EXAMPLE.body)


def test_a_finding_that_something_speaks_against_matches_but_is_not_said(knowledge: Knowledge) -> None:
    plain = see(DUPLICATE, label("nccl-duplicate-gpu"), knowledge)
    assert plain.sure[0] == plain.said[0] == plain.candidates[0][0] == "nccl-duplicate-gpu"
    regression = f"{EXAMPLE.body}\n\nThis is a regression: it used to work in the previous release."
    told = see(replace(DUPLICATE, body=regression), label("nccl-duplicate-gpu"), knowledge)
    assert told.sure and not told.said
    score = score_seen([told])
    assert (score.sure.value, score.coverage.value, score.helped.value) == (1.0, 0.0, 0.0)


def test_what_taught_the_matcher_or_an_entry_is_left_out_and_counted(
    knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    cited = next(iter(cited_issues(load_catalogue().values())))
    ids = ("acme/train#1", "Acme/Train#2", "acme/train#3", cited)
    monkeypatch.setattr(findings, "failure_labels", lambda: dict.fromkeys(ids, label("nccl-duplicate-gpu")))
    monkeypatch.setattr(findings, "learned_from", lambda: frozenset({"acme/train#2", "acme/train#3"}))
    reports = [replace(DUPLICATE, id=id) for id in ids]
    axis = score_failures([(one, one.id == "acme/train#3") for one in reports], knowledge)
    assert {origin: score.cases for origin, score in axis.scores.items()} == {REAL: 1, RETOLD: 1}
    assert (axis.learned, axis.cited) == (1, 1)
    assert axis.scores[REAL].helped.value == 1.0
    assert "since the matcher learned from them: 1." in failures_text(axis)


AXIS = FailureAxis({REAL: score_seen(FOUR), RETOLD: score_seen(FOUR[:1])}, learned=7, cited=0)


def test_the_axis_has_a_row_of_the_table_for_each_origin() -> None:
    rows = axis_rows(AXIS)
    assert [row[:2] for row in rows] == [["failure, real", "4"], ["failure, retold", "1"]]
    assert {len(row) for row in rows} == {len(DETAILS) + 2}
    named = dict(zip([heading for heading, _ in DETAILS], rows[0][2:], strict=True))
    assert (named["top-3"], named["coverage"], named["precision when it answers"]) == ("0.50",) * 3


def test_the_page_and_the_json_say_what_was_left_out() -> None:
    part = failures_part(AXIS)
    assert any("learned from them: 7." in note for note in part.notes)
    assert {len(row) for row in part.rows} == {len(part.head)}
    figures = AXIS.figures()
    assert figures["left_out"] == {"learned": 7, "cited": 0}
    assert figures["real"]["recall_at_3"]["value"] == 0.5


def test_passes_agree_where_they_share_an_entry_or_name_none() -> None:
    found = agreement(
        [label("a"), label("a", "b", second=("b",)), label("a", second=("c",)), label(), label()]
    )
    assert (found.cases, found.same, found.either, found.common) == (5, 0.8, 3, pytest.approx(2 / 3))
    assert found.kappa == 1.0
    assert agreement([label("a", second=()), label()]).kappa == 0.0
    assert agreement([label()]).same == 1.0


def test_the_agreement_of_all_labels_is_told_by_origin() -> None:
    table = agreement_table()
    assert [line.split("|")[1].strip() for line in table.splitlines()[2:]] == [REAL, RETOLD, "all"]
