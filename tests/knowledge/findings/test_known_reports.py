"""The answer to a report of a well-known failure names its cause or its remedy."""

from __future__ import annotations

from statistics import median

import pytest

from knowledge.engine import Knowledge
from tests.knowledge.findings.known_reports import Known, answer_of, read_known

GENERIC = (
    "Upgrade the framework and check that all versions fit together. Set NCCL_DEBUG=INFO and rerun. Look at the first "
    "rank that failed. Lower the batch size, check the network between the nodes, and post a minimal reproduction."
)


@pytest.fixture(scope="module")
def reports() -> list[Known]:
    return read_known()


def test_nine_of_ten_are_answered_in_a_few_lines(knowledge: Knowledge, reports: list[Known]) -> None:
    answers = [answer_of(known, knowledge) for known in reports]
    right = [known.answered_by(answer) for known, answer in zip(reports, answers, strict=True)]
    assert sum(right) >= 0.9 * len(reports)
    assert median(map(len, answers)) <= 2_500


def test_generic_advice_answers_next_to_none(reports: list[Known]) -> None:
    assert sum(known.answered_by(GENERIC) for known in reports) <= 0.05 * len(reports)


def test_another_reports_answer_is_mostly_wrong(knowledge: Knowledge, reports: list[Known]) -> None:
    answers = [answer_of(known, knowledge) for known in reports[:40]]
    shifted = [*answers[1:], answers[0]]
    swapped = [known.answered_by(answer) for known, answer in zip(reports, shifted, strict=False)]
    assert sum(swapped) <= 0.15 * len(swapped)
