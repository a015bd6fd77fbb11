"""The answer to a report of a well-known failure names its cause or its remedy."""

from __future__ import annotations

from statistics import median

import pytest

from knowledge.engine import Knowledge, triage
from knowledge.triage import Triage
from tests.knowledge.findings.known_reports import Known, answer_of, read_known, unasked

GENERIC = (
    "Upgrade the framework and check that all versions fit together. Set NCCL_DEBUG=INFO and rerun. Look at the first "
    "rank that failed. Lower the batch size, check the network between the nodes, and post a minimal reproduction."
)


@pytest.fixture(scope="module", params=[3, pytest.param(1, marks=pytest.mark.long)])
def reports(request: pytest.FixtureRequest) -> list[Known]:
    """Every third of them; all in `make test-long`."""
    return read_known()[:: request.param]


@pytest.fixture(scope="module")
def triages(knowledge: Knowledge, reports: list[Known]) -> list[Triage]:
    return [triage(known.report, knowledge) for known in reports]


def test_nine_of_ten_are_answered_in_a_few_lines(
    knowledge: Knowledge, reports: list[Known], triages: list[Triage]
) -> None:
    answers = [answer_of(found, knowledge.taxonomy) for found in triages]
    right = [known.answered_by(answer) for known, answer in zip(reports, answers, strict=True)]
    assert sum(right) >= 0.9 * len(reports)
    assert median(map(len, answers)) <= 2_500


def test_what_is_said_unasked_is_said_on_half_and_nearly_always_right(
    reports: list[Known], triages: list[Triage]
) -> None:
    said = [(known, text) for known, found in zip(reports, triages, strict=True) if (text := unasked(found))]
    assert len(said) >= 0.5 * len(reports)
    assert sum(known.answered_by(text) for known, text in said) >= 0.95 * len(said)


def test_generic_advice_answers_next_to_none(reports: list[Known]) -> None:
    assert sum(known.answered_by(GENERIC) for known in reports) <= 0.05 * len(reports)


def test_another_reports_answer_is_mostly_wrong(
    knowledge: Knowledge, reports: list[Known], triages: list[Triage]
) -> None:
    answers = [answer_of(found, knowledge.taxonomy) for found in triages]
    swapped = [known.answered_by(answers[n - 1]) for n, known in enumerate(reports)]
    assert sum(swapped) <= 0.15 * len(swapped)
