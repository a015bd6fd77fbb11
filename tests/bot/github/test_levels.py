"""`comment_on`: which reports are worth a comment at which level, and what the comment then holds."""

from __future__ import annotations

from typing import get_args

import pytest

from bot.github.decide import what_to_say
from bot.github.repo_config import RepoConfig
from bot.render.comment import Level, View, render_comment
from knowledge.report import Report
from knowledge.triage import Triage, VersionConflict
from tests.bot.fake_core import FakeCore, a_finding, a_triage, axis, thin

OPEN = {
    "symptom": axis(("B.2", 0.4), claim=False),
    "stage": axis(("B", 0.4), claim=False),
    "cause": axis(("dependency", 0.3), claim=False),
}
GUESS = a_finding(sure=False, p=0.4)
CONFLICT = VersionConflict(
    id="x", text="torch needs another CUDA.", source="https://a.org/x", explains_line=2
)


def conflicted(explains_line: int | None) -> Triage:
    conflict = CONFLICT.model_copy(update={"explains_line": explains_line})
    evidence = a_triage().evidence.model_copy(update={"conflicts": [conflict]})
    return a_triage(findings=[], evidence=evidence, **OPEN)


def reason(triage: Triage, level: Level, *, asked: bool = False, **more: object) -> str:
    config = RepoConfig.model_validate({"mode": "comment", "comment_on": level, **more})
    return what_to_say(triage, config, other_bot_asks=False, asked=asked).reason


def body(triage: Triage, level: Level) -> str:
    return render_comment(View(triage=triage, name=FakeCore().name, level=level)).body.split("<details>")[0]


def test_the_default_is_known_failures_alone() -> None:
    assert RepoConfig().comment_on == "findings"
    assert View(a_triage(), FakeCore().name).level == "findings"


@pytest.mark.parametrize(
    ("triage", "findings", "claims", "always"),
    [
        (a_triage(), "known_failure", "known_failure", "known_failure"),
        (conflicted(2), "version_conflict", "version_conflict", "version_conflict"),
        (conflicted(None), "nothing_specific", "nothing_specific", "best_guess"),
        (a_triage(findings=[]), "nothing_specific", "claim", "claim"),
        (a_triage(findings=[GUESS], **OPEN), "nothing_specific", "nothing_specific", "best_guess"),
        (a_triage(findings=[], **{**OPEN, "stage": axis(("D", 0.9))}), *["nothing_specific"] * 2, "best_guess"),
        (a_triage(findings=[], type=axis(("feature", 0.9))), *["not_a_report"] * 3),
        (a_triage(findings=[], type=axis(("howto", 0.9)), **OPEN), *["nothing_specific"] * 3),
        (a_triage(findings=[], type=axis(("fault", 0.6), claim=False)), *["nothing_specific"] * 3),
        (a_triage(scope="other_field"), *["other_field"] * 3),
    ],
    ids=["known", "conflict", "idle-conflict", "claim", "guess", "stage", "feature", "howto", "unclear", "scope"],
)  # fmt: skip
def test_what_is_worth_a_comment(triage: Triage, findings: str, claims: str, always: str) -> None:
    assert [reason(triage, level) for level in get_args(Level)] == [findings, claims, always]


@pytest.mark.parametrize("level", get_args(Level))
def test_what_people_set_and_what_was_measured_is_always_said(level: Level) -> None:
    by_people = axis(("D.2.1", 1.0)).model_copy(update={"by_people": True})
    assert reason(a_triage(findings=[], symptom=by_people), level) == "set_by_people"
    assert reason(a_triage(findings=[], scope="other_field", measured=["x"]), level) == "diagnostics"


@pytest.mark.parametrize("level", get_args(Level))
def test_a_report_that_shows_nothing_is_asked_unless_asking_is_switched_off(level: Level) -> None:
    bare = thin(Report("acme/train#1", "It hangs", "It hangs.")).model_copy(update=OPEN)
    assert reason(bare, level) == "missing_only"
    assert reason(bare, level, sections=["evidence"]) == "too_little"


@pytest.mark.parametrize("level", get_args(Level))
def test_a_maintainer_who_asks_gets_the_best_answer_at_every_level(level: Level) -> None:
    assert reason(a_triage(findings=[GUESS], **OPEN), level, asked=True) == "best_guess"
    assert reason(a_triage(findings=[], type=axis(("fault", 0.6), claim=False)), level, asked=True) == "claim"
    assert reason(a_triage(scope="unreadable", findings=[]), level, asked=True) == "unreadable"
    howto = {"type": axis(("howto", 0.9)), **OPEN}
    for scope in ("ours", "too_little", "other_field"):
        assert reason(a_triage(findings=[GUESS], scope=scope, **howto), level, asked=True) == "best_guess"
        assert reason(a_triage(findings=[GUESS], scope=scope, **howto), "findings") != "best_guess"


def test_claims_stand_in_the_comment_from_their_level_on_and_guesses_only_at_the_last() -> None:
    claim = "I'd file this under **Hang** (likely)."
    assert [claim in body(a_triage(), level) for level in get_args(Level)] == [False, True, True]
    guessed = a_triage(findings=[GUESS])
    opening = "No known failure clearly matches. The nearest is"
    assert [opening in body(guessed, level) for level in get_args(Level)] == [False, False, True]
    unknown = body(a_triage(findings=[], **OPEN), "always")
    assert unknown.startswith(
        "No known failure matches this report. There isn't enough information in it to say what went wrong."
    )


def test_a_claim_below_the_repositorys_threshold_is_neither_said_nor_a_reason() -> None:
    strict = {"symptom": 0.9, "stage": 0.95, "cause": 0.9}
    assert reason(a_triage(findings=[]), "claims", thresholds=strict) == "nothing_specific"
    view = View(a_triage(findings=[]), FakeCore().name, level="claims", thresholds=strict)
    assert "Hang" not in render_comment(view).body.split("<details>")[0]
