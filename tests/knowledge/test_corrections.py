"""What people set is the last word on every axis, and nothing below it contradicts it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from knowledge.corrections import Given, correct, merged
from knowledge.engine import Knowledge, triage
from knowledge.findings.failure import load_catalogue
from knowledge.report import Report
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import AXES, QuickCheck, Triage
from tests.bot.fake_core import a_finding, a_triage
from tests.knowledge.test_readback import pasted

HANG = Report(
    "acme/train#1",
    "Training hangs",
    (Path(__file__).parents[2] / "examples" / "hang.md").read_text("utf-8"),
)
PERCENT = re.compile(r"from \d+% to \d+%")


def corrected(given: Given, knowledge: Knowledge, more: str = "") -> Triage:
    """The hang after people set `given`, with `more` pasted below it."""
    return triage(replace(HANG, body=f"{HANG.body}\n\n{more}", set_by_people=given), knowledge)


def test_stage_counts_and_fixes_follow_the_symptom(knowledge: Knowledge) -> None:
    assert triage(HANG, knowledge).symptom.top == "D.2.1"
    value = corrected({"symptom": ["A.1"], "cause": ["dependency"]}, knowledge)
    assert (value.symptom.answer, value.stage.answer) == (["A.1"], ["A"])
    assert value.stage.by_people
    assert {load_taxonomy().cause_of_fix(fix.id) for fix in value.advice.fixes} == {"dependency"}
    counted = {fix.support.of for fix in value.advice.fixes}
    assert counted == {load_taxonomy().faults_by_scope["A.1"]}


def test_the_script_and_what_is_asked_follow_the_symptom(knowledge: Knowledge) -> None:
    before, after = triage(HANG, knowledge), corrected({"symptom": ["A.1"]}, knowledge)
    assert after.script != before.script
    assert not any(item.id == "stacks" for item in after.missing)


def test_a_cause_that_was_left_open_is_weighted_by_the_symptom(knowledge: Knowledge) -> None:
    before, after = triage(HANG, knowledge), corrected({"symptom": ["A.1"]}, knowledge)
    was, now = ({r.id: r.p for r in one.cause.ranking} for one in (before, after))
    assert now["dependency"] > was["dependency"]
    assert not after.cause.by_people


def test_what_people_set_outlives_a_result_that_speaks_for_something_else(knowledge: Knowledge) -> None:
    given: Given = {"symptom": ["D.1.2"], "cause": ["framework_defect"], "fix": ["framework_version"]}
    found = pasted(0, ("shm_size", "tiny"), ("rendezvous_env", "rank_beyond_world"))
    without, value = corrected({}, knowledge, found), corrected(given, knowledge, found)
    assert any(PERCENT.search(text) for text in without.measured)
    assert value.cause.answer == ["framework_defect"]
    assert [fix.id for fix in value.advice.fixes] == ["framework_version"]
    assert any(text.startswith("Shared memory") for text in value.measured)
    assert not any(PERCENT.search(text) or "Contradiction" in text for text in value.measured)


def test_whoever_names_a_symptom_says_that_it_is_a_fault(knowledge: Knowledge) -> None:
    wish = Report("acme/train#2", "Feature request: a nicer progress bar", "Please add colours to the bar.")
    assert triage(wish, knowledge).symptom.answer == []
    value = triage(replace(wish, set_by_people={"symptom": ["D.2.3"]}), knowledge)
    assert (value.type.top, value.symptom.answer) == ("fault", ["D.2.3"])
    assert value.advice.fixes


def test_a_fault_that_people_call_a_question_claims_no_symptom(knowledge: Knowledge) -> None:
    value = corrected({"type": ["howto"]}, knowledge)
    assert value.type.answer == ["howto"]
    assert (value.symptom.answer, value.advice.fixes, value.script) == ([], [], "")


def test_a_stage_alone_leaves_only_symptoms_within_it(knowledge: Knowledge) -> None:
    value = corrected({"stage": ["B"]}, knowledge)
    assert {r.id.partition(".")[0] for r in value.symptom.ranking if r.p > 0} == {"B"}


def test_the_cause_follows_from_the_fix(knowledge: Knowledge) -> None:
    value = corrected({"fix": ["network"]}, knowledge)
    assert (value.cause.answer, value.cause.by_people) == (["network_environment"], True)


@pytest.mark.parametrize(
    "given",
    [
        {"symptom": ["A.1"], "cause": ["dependency"]},
        {"type": ["howto"]},
        {"fix": ["network"]},
        {"stage": ["B"]},
    ],
)
def test_a_kept_triage_comes_to_the_same(given: Given, knowledge: Knowledge) -> None:
    kept = correct(triage(HANG, knowledge), given, load_taxonomy())
    known = corrected(given, knowledge)
    for axis in AXES:
        ours, theirs = getattr(kept, axis), getattr(known, axis)
        assert (ours.answer, ours.by_people) == (theirs.answer, theirs.by_people)
    assert [fix.id for fix in kept.advice.fixes][:3] == [fix.id for fix in known.advice.fixes][:3]
    assert kept.script == known.script
    assert kept.checks == known.checks
    assert {f.id for f in kept.findings} <= {f.id for f in known.findings}


@pytest.mark.parametrize(
    ("given", "stays"),
    [
        ({"type": ["howto"]}, False),
        ({"symptom": ["A.1"]}, False),
        ({"cause": ["hardware"]}, False),
        ({"symptom": ["B.1"]}, True),
        ({"stage": ["B"]}, True),
    ],
)
def test_a_kept_finding_that_contradicts_what_people_set_goes(given: Given, stays: bool) -> None:
    entry = next(e for e in load_catalogue().values() if e.symptom == ("B.1",) and "hardware" not in e.cause)
    checks = [QuickCheck(run="x", reading="y")]
    kept = correct(a_triage(findings=[a_finding(id=entry.id)], checks=checks), given, load_taxonomy())
    assert [f.id for f in kept.findings] == [entry.id] * stays
    assert checks[0] not in kept.checks


def test_without_corrections_a_kept_triage_is_the_same(knowledge: Knowledge) -> None:
    value = triage(HANG, knowledge)
    assert correct(value, {}, load_taxonomy()) is value


@pytest.mark.parametrize(
    ("corrections", "expected"),
    [
        ([{"symptom": ["B.2"]}, {"symptom": ["D.2.1"]}], {"symptom": ("D.2.1",)}),
        ([{"stage": ["A"]}, {"symptom": ["D.2.1"]}], {"symptom": ("D.2.1",)}),
        ([{"symptom": ["D.2.1"]}, {"stage": ["B"]}], {"stage": ("B",)}),
        ([{"symptom": ["D.2.1"]}, {"stage": ["D"]}], {"symptom": ("D.2.1",), "stage": ("D",)}),
        ([{"type": ["howto"]}, {"cause": ["hardware"]}], {"cause": ("hardware",)}),
        ([{"cause": ["hardware"]}, {"type": ["howto"]}], {"type": ("howto",)}),
    ],
)
def test_the_last_word_takes_back_what_cannot_be_true_with_it(
    corrections: list[Given], expected: dict[str, tuple[str, ...]]
) -> None:
    assert merged(corrections) == expected
