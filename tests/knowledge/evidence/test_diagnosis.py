"""The author's own words for the cause."""

from __future__ import annotations

import pytest

from bot.render.wording import telling
from knowledge.evidence import read_report
from knowledge.evidence.reading import summarise
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from knowledge.triage import QuotedLine

TABLE = SignatureTable([])


def diagnoses(body: str) -> list[str]:
    evidence = summarise(read_report(Report("a/b#1", "It hangs", body), TABLE))
    return [line.text for line in evidence.lines if line.role == "diagnosis"]


@pytest.mark.parametrize(
    "said",
    [
        "I think this is caused by a missing barrier in the sampler.",
        "The reason is that rank 0 saves the checkpoint alone.",
        "It turns out that the driver was older on one node.",
        "This happens because the port is taken by another job.",
    ],
)
def test_a_named_cause_is_quoted(said: str) -> None:
    assert diagnoses(f"Training stops after an hour. {said} Any help is welcome.") == [said]


@pytest.mark.parametrize(
    "said",
    [
        "Is it caused by the sampler or something else in there?",
        "The issue is caused by",
        "It fails due to an out-of-memory error.",
        "```\nerror caused by a missing file in the folder\n```",
        "I don't know what the reason is.",
    ],
)
def test_a_question_a_stub_or_a_log_is_no_diagnosis(said: str) -> None:
    assert diagnoses(f"Training stops after an hour.\n\n{said}") == []


def test_it_is_among_the_few_lines_that_are_shown() -> None:
    roots = [QuotedLine(line=n, text=f"Error {n}", role="root") for n in range(1, 5)]
    own = QuotedLine(line=9, text="Because of x.", role="diagnosis")
    assert [line.line for line in telling([*roots, own], 3)] == [1, 2, 9]
    assert [line.line for line in telling(roots, 3)] == [1, 2, 3]
