"""The simulation over the corpus draws what the likelihoods say, and shows a gain."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from knowledge.diagnostics.model import model_of
from knowledge.diagnostics.probe import by_id
from tests.setups.simulate import WORLDS, World, after, draw, labelled, prior_of


def test_every_human_labelled_fault_with_one_cause_takes_part() -> None:
    rows = labelled()
    assert len(rows) > 100
    assert len({id for id, _, _ in rows}) == len(rows)


def test_a_case_is_no_evidence_for_itself() -> None:
    rows = [("a", "B.2", "hardware"), ("b", "B.2", "dependency")]
    causes = prior_of("B.2", rows, "a")
    assert causes["dependency"] > 0.9
    assert causes["hardware"] < 0.1


def test_findings_come_as_often_as_the_table_says() -> None:
    probe, chance = by_id()["checkpoint_keys"], random.Random(1)
    model = model_of([probe])
    drawn = Counter(
        draw(model, "wrapped_model_state", WORLDS[0], chance)["checkpoint"] for _ in range(20_000)
    )
    wrapped = probe.outcome("wrapped")
    assert wrapped is not None
    share = drawn["wrapped"] / sum(drawn.values())
    assert share == pytest.approx(wrapped.p["wrapped_model_state"], rel=0.1)


def test_a_finding_overturns_what_the_symptom_alone_says() -> None:
    prior = {"communication_configuration": 0.6, "resource_limits": 0.1, "dependency": 0.3}
    world, chance = World("no false alarms", 1.0, 0.0), random.Random(2)
    drawn = Counter(after(prior, [by_id()["shm_size"]], "resource_limits", world, chance) for _ in range(200))
    assert set(drawn) == {"communication_configuration", "resource_limits"}
