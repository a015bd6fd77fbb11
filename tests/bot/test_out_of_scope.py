"""What cannot be judged: one plain line on every surface, and silence on GitHub."""

from __future__ import annotations

import pytest

from bot.github.decide import what_to_say
from bot.github.repo_config import RepoConfig
from bot.render.comment import View, render_comment
from bot.render.markdown import markdown_of
from bot.render.wording import OUT_OF_SCOPE, UNCLEAR
from bot.slack.answer import View as SlackView
from bot.slack.answer import render
from knowledge.corrections import correct
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import Advice, Scope
from tests.bot.fake_core import FakeCore, a_triage, axis
from tests.bot.terminal import printed

SCOPES: tuple[Scope, ...] = ("other_field", "too_little", "unreadable")
NAME = FakeCore().name


def config(**more: object) -> RepoConfig:
    return RepoConfig.model_validate({"mode": "comment", **more})


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("kind", ["fault", "howto"])
def test_github_hears_nothing_of_it(scope: Scope, kind: str) -> None:
    triage = a_triage(type=axis((kind, 0.95)))
    assert what_to_say(triage, config(), other_bot_asks=False).what == "finding"
    closed = triage.model_copy(update={"scope": scope})
    said = what_to_say(closed, config(comment_on="always", sections=["evidence"]), other_bot_asks=False)
    assert (said.what, said.reason) == ("nothing", scope)


def test_of_a_fault_that_shows_nothing_github_asks_for_what_is_missing_and_says_no_more() -> None:
    bare = a_triage(scope="too_little")
    assert what_to_say(bare, config(), other_bot_asks=False).what == "ask"
    question = bare.model_copy(update={"type": axis(("howto", 0.95))})
    assert what_to_say(question, config(), other_bot_asks=False).what == "nothing"


@pytest.mark.parametrize("scope", SCOPES)
def test_slack_says_so_and_notifies_of_nothing(scope: Scope) -> None:
    passed = render(SlackView("0a1b2c", a_triage(scope=scope), NAME))
    assert passed.text == "Triage: nothing to judge"
    first = passed.blocks[0]["text"]["text"]
    assert "D.2.1" not in first
    assert "cause" not in first


def test_a_correction_says_that_it_is_ours_after_all() -> None:
    triage = correct(a_triage(scope="other_field", findings=[]), {"symptom": ["D.2.1"]}, load_taxonomy())
    assert what_to_say(triage, config(), other_bot_asks=False).what == "finding"
    view = View(triage, NAME, corrected={"symptom": ("D.2.1",)})
    assert render_comment(view).body.startswith("Set by a maintainer: Hang.")


def test_terminal_and_markdown_say_so_and_claim_nothing() -> None:
    for scope, words in OUT_OF_SCOPE.items():
        triage = a_triage(scope=scope, findings=[], neighbours=[], advice=Advice(fixes=[]))
        for text in (printed(triage), markdown_of(triage, load_taxonomy()).split("<details>")[0]):
            assert words in " ".join(text.split())
            assert "D.2.1" not in text


def test_no_surface_calls_a_failure_what_may_be_none() -> None:
    unsure = a_triage(type=axis(("fault", 0.6), ("howto", 0.4), claim=False), findings=[])
    if_it_is = "If this is a bug report, I'd file it under"
    assert if_it_is in render_comment(View(unsure, NAME, level="always")).body
    first = render(SlackView("0a1b2c", unsure, NAME)).blocks[0]["text"]["text"]
    assert first.startswith(UNCLEAR)
    assert UNCLEAR in printed(unsure)
    certain = a_triage(findings=[])
    assert if_it_is not in render_comment(View(certain, NAME, level="always")).body
    assert UNCLEAR not in render(SlackView("0a1b2c", certain, NAME)).blocks[0]["text"]["text"]
