"""What a maintainer did is never undone by somebody with fewer rights, and nobody alone silences a repository."""

from __future__ import annotations

import pytest

from bot.github.records import TryAgain
from tests.bot.fake_core import a_triage
from tests.bot.fake_github import BOT, FakeIssue, Fault, once
from tests.bot.world import BODY, World


@pytest.fixture
def world(world: World) -> World:
    world.configure("mode: comment\n")
    world.repo.permissions["maria"] = "write"
    return world


@pytest.fixture
def commented(world: World) -> FakeIssue:
    issue = world.issue()
    world.opened(issue)
    return issue


def folded(world: World, issue: FakeIssue) -> bool:
    return len(world.ours(issue)[0].body.splitlines()) == 2


def test_the_authors_explain_does_not_undo_a_maintainers_dismissal(
    world: World, commented: FakeIssue
) -> None:
    world.say(commented, "maria", "/triage dismiss")
    outcome = world.say(commented, "reporter", "/triage explain")
    assert (outcome.kind, outcome.reason) == ("ignored", "dismissed_by_maintainer")
    assert folded(world, commented)
    assert commented.comments[-1].reactions == []
    world.opened(commented, "edited")
    assert folded(world, commented)


def test_the_authors_explain_undoes_the_authors_own_dismissal(world: World, commented: FakeIssue) -> None:
    world.say(commented, "reporter", "/triage dismiss")
    assert folded(world, commented)
    world.say(commented, "reporter", "/triage explain")
    assert "How the bot got there" in world.ours(commented)[0].body


def test_a_maintainers_explain_undoes_every_dismissal(world: World, commented: FakeIssue) -> None:
    world.say(commented, "maria", "/triage dismiss")
    world.say(commented, "maria", "/triage explain")
    assert not folded(world, commented)


def test_the_authors_dismissal_does_not_take_over_a_maintainers(world: World, commented: FakeIssue) -> None:
    world.say(commented, "maria", "/triage dismiss")
    world.say(commented, "reporter", "/triage dismiss")
    assert world.say(commented, "reporter", "/triage explain").reason == "dismissed_by_maintainer"


def test_the_authors_explain_does_not_bring_back_what_was_removed(world: World, commented: FakeIssue) -> None:
    commented.comments.clear()
    world.opened(commented, "edited")
    assert world.say(commented, "reporter", "/triage explain").reason == "dismissed_by_maintainer"
    assert world.ours(commented) == []


def test_the_author_does_not_replace_what_a_person_wrote_into_the_comment(
    world: World, commented: FakeIssue
) -> None:
    ours = world.ours(commented)[0]
    ours.body += "\nmaria: known problem, a fix is on its way. DO NOT LOSE"
    assert world.say(commented, "reporter", "/triage dismiss").reason == "edited_by_person"
    ours.reactions.append(("reporter", "-1"))
    payload = world.fake.payload("acme/train", commented, "disliked")
    assert world.deliver("issues", payload).reason == "edited_by_person"
    assert "DO NOT LOSE" in ours.body
    assert world.store.dismissals == {}
    world.say(commented, "maria", "/triage dismiss")
    assert folded(world, commented)


def test_a_dismissal_that_runs_again_writes_once(world: World, commented: FakeIssue) -> None:
    world.fake.faults = once("POST", "/reactions", Fault("500"))
    comment = world.fake.add_comment(commented, "reporter", "/triage dismiss")
    with pytest.raises(TryAgain):
        world.repeat(commented, comment)
    assert world.repeat(commented, comment).reason == "dismiss"
    assert world.ours(commented)[0].edits == 1
    assert comment.reactions == [(BOT, "+1")]


def dismissed(world: World, count: int, author: str, by: str) -> None:
    for n in range(count):
        issue = world.fake.open_issue("acme/train", f"Training hangs {n}", BODY, author)
        assert world.opened(issue).kind == "written"
        world.say(issue, by, "/triage dismiss")


def test_one_author_who_dismisses_does_not_silence_the_repository(world: World) -> None:
    dismissed(world, 6, "mallory", "mallory")
    assert world.opened(world.issue()).kind == "written"


def test_five_authors_who_dismiss_do(world: World) -> None:
    for n in range(5):
        dismissed(world, 1, f"user{n}", f"user{n}")
    assert world.opened(world.issue()).reason == "noise_budget"


def test_a_maintainer_who_dismisses_five_does(world: World) -> None:
    dismissed(world, 5, "reporter", "maria")
    assert world.opened(world.issue()).reason == "noise_budget"


def test_a_maintainers_command_does_not_count_as_an_answer(world: World) -> None:
    world.core.answer = lambda report: a_triage(report, findings=[])
    issue = world.issue()
    world.opened(issue)
    world.fake.add_comment(issue, "maria", "/triage", "MEMBER")
    world.core.answer = a_triage
    assert world.opened(issue, "edited").reason == "created"


def test_a_maintainers_answer_next_to_a_command_counts(world: World) -> None:
    issue = world.issue()
    world.fake.add_comment(issue, "maria", "/triage", "MEMBER")
    world.fake.add_comment(issue, "maria", "Known, fixed in 2.4.", "MEMBER")
    assert world.opened(issue).reason == "answered_by_people"
