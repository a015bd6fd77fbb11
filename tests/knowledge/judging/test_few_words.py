"""What is made of a report with hardly any words, and of one that repeats itself."""

from __future__ import annotations

import numpy as np
import pytest

from knowledge.engine import Knowledge, triage
from knowledge.evidence import read_report
from knowledge.judging.features import MAX_EMBEDDED, REPEATS, views
from knowledge.judging.judge import ENOUGH, UNTOLD, _by_symptom_if_short, _expected
from knowledge.report import Report
from knowledge.signatures import SignatureTable

TABLE = SignatureTable()


def account(body: str) -> str:
    return views(read_report(Report("a/b#1", "It hangs", body), TABLE))[0]


@pytest.mark.parametrize(("words", "share"), [(0, UNTOLD), (ENOUGH // 2, UNTOLD / 2), (ENOUGH, 0), (900, 0)])
def test_the_fewer_words_the_more_counts_the_symptom(words: int, share: float) -> None:
    p = np.full((1, 15), 1 / 15)
    symptom = np.eye(29)[[3]]
    mixed = _by_symptom_if_short("cause", p, symptom, words)
    np.testing.assert_allclose(mixed, (1 - share) * p + share * _expected("cause", symptom))
    assert mixed.sum() == pytest.approx(1)


def test_a_hang_at_start_is_put_down_to_what_study_1_found_for_it(knowledge: Knowledge) -> None:
    found = triage(Report("a/b#1", "It hangs at start.", "It hangs at start."), knowledge)
    assert found.symptom.top == "B.2"
    assert "communication_configuration" in [cause.id for cause in found.cause.ranking[:2]]


@pytest.mark.parametrize("noise", ["@octocat ", "closes #1 ", "a b c d "])
def test_what_repeats_itself_does_not_fill_the_view(noise: str) -> None:
    plain = account("Training stops after the first epoch on two nodes.")
    noisy = account(
        "Training stops after the first epoch on two nodes.\n\n" + noise * 4000 + "\n\nOne node works."
    )
    assert noisy.startswith(plain)
    assert len(noisy) <= len(plain) + (REPEATS + 2) * len(noise) + len(" One node works.")


def test_one_endless_word_does_not_fill_the_view() -> None:
    assert len(account("Training stops.\n\n" + "[" * 30_000 + " and then nothing")) < MAX_EMBEDDED / 2
