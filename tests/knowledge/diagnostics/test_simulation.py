"""The simulation over the corpus draws what the likelihoods say, and shows a gain."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from knowledge.diagnostics import by_id
from knowledge.diagnostics.likelihood import likelihood
from tests.setups.simulate import WORLDS, after, draw, labelled, prior_of


def test_every_human_labelled_fault_with_one_cause_takes_part() -> None:
    rows = labelled()
    assert len(rows) > 100
    assert len({id for id, _, _ in rows}) == len(rows)


def test_a_case_is_no_evidence_for_itself() -> None:
    rows = [("a", "B.2", "hardware"), ("b", "B.2", "dependency")]
    causes = prior_of("B.2", rows, "a")
    assert causes["dependency"] > 0.9
    assert causes["hardware"] < 0.1


def test_outcomes_come_as_often_as_the_table_says() -> None:
    probe, chance = by_id()["shm_size"], random.Random(1)
    drawn = Counter(
        outcome for _ in range(20_000) for _, outcome in draw([probe], "resource_limits", WORLDS[0], chance)
    )
    tiny = probe.outcome("tiny")
    ratios = likelihood(probe, "tiny")
    assert tiny is not None
    assert ratios is not None
    share = drawn["tiny"] / sum(drawn.values())
    assert share == pytest.approx(ratios["resource_limits"] * tiny.otherwise, rel=0.2)


def test_a_finding_overturns_what_the_symptom_alone_says() -> None:
    prior = {"communication_configuration": 0.6, "resource_limits": 0.1, "dependency": 0.3}
    assert after(prior, [(by_id()["shm_size"], "tiny")]) == "resource_limits"
    assert after(prior, [(by_id()["shm_size"], "ok")]) == "communication_configuration"
