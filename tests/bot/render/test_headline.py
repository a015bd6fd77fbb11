"""The finding in one line: as sure as the triage is."""

from __future__ import annotations

import pytest

from bot.render.sayings import headline
from knowledge.engine import Knowledge, triage
from knowledge.report import Report
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import Ranked, Triage

TAXONOMY = load_taxonomy()


@pytest.fixture(scope="module")
def found(knowledge: Knowledge) -> Triage:
    return triage(Report("a/b#1", "It stops", "RuntimeError: CUDA out of memory on eight GPUs"), knowledge)


def told(found: Triage, **claims: list[str]) -> str:
    axes = {
        axis: getattr(found, axis).model_copy(update={"answer": claims.get(axis, [])})
        for axis in ("stage", "symptom", "cause")
    }
    ranking = [Ranked(id="D.1.2", p=0.41), Ranked(id="D.2.1", p=0.3), Ranked(id="B.1", p=0.29)]
    axes["symptom"] = axes["symptom"].model_copy(update={"ranking": ranking})
    return headline(found.model_copy(update=axes), TAXONOMY)


def test_a_claimed_symptom_is_the_finding(found: Triage) -> None:
    assert told(found, symptom=["D.1.2"]).startswith("D.1.2 ")


def test_an_open_symptom_is_told_with_the_two_likeliest_and_nothing_else(found: Triage) -> None:
    line = told(found)
    assert "cannot be told for sure: D.1.2" in line and "(41%) or D.2.1" in line and "(30%)" in line
    assert "B.1" not in line and "of stage" not in line and "Its cause" not in line


def test_what_is_claimed_beside_an_open_symptom_is_said(found: Triage) -> None:
    line = told(found, stage=["D"], cause=["resource_limits"])
    assert "A fault of stage D " in line and "Its cause: " in line
