"""Commands in comments: who may what, done once, acknowledged by a reaction."""

from __future__ import annotations

import pytest

from bot.github.thread import Command, Malformed, may, parse_command
from knowledge.diagnostics.result import parse_result
from knowledge.report import Report
from knowledge.triage import Triage
from tests.bot.fake_core import FakeCore, a_triage
from tests.bot.fake_github import BOT, FakeIssue, user
from tests.bot.world import REPO, World, result_block

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def triaged(world: World) -> tuple[World, FakeIssue]:
    world.configure("mode: both\nlabels: {symptom: {D.2.1: hang, B.2: setup-hang}}\n")
    world.repo.labels += ["hang", "setup-hang"]
    world.repo.permissions["maria"] = "write"
    issue = world.issue()
    world.opened(issue)
    return world, issue


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("/triage", "again"),
        ("  /triage explain  \nthanks", "explain"),
        ("/triage dismiss", "dismiss"),
        ("/triage post", "post"),
        ("/triage off", "off"),
        ("/triage on", "on"),
        ("/triage result\n```\nprobe says\n```", "result"),
        ("/triage symptom=d.2.1 cause=Network_Environment fix=network", "correct"),
        ("/triage same #12", "same"),
        ("/triage different 12", "different"),
    ],
)
def test_a_command_is_read(body: str, word: str) -> None:
    command = parse_command(body, FakeCore().ids)
    assert isinstance(command, Command)
    assert command.word == word


@pytest.mark.parametrize(
    "body", ["", "hello", "please /triage", "/triaged", "> /triage off", "`/triage off`", "text\n/triage off"]
)
def test_what_is_no_command(body: str) -> None:
    assert parse_command(body, FakeCore().ids) is None


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("/triage please", "unknown_word"),
        ("/triage same", "no_number"),
        ("/triage same #x", "no_number"),
        ("/triage different #1 #2", "no_number"),
        ("/triage symptom=Z.9", "unknown_id"),
        ("/triage symptom=", "unknown_id"),
        ("/triage symptom=D.2.1 symptom=B.2", "unknown_word"),
        ("/triage result", "empty_result"),
        ("/triage off now", "unknown_word"),
    ],
)
def test_what_cannot_be_read(body: str, reason: str) -> None:
    assert parse_command(body, FakeCore().ids) == Malformed(reason)


def test_several_ids_of_one_axis() -> None:
    command = parse_command("/triage symptom=B.2,D.2.1", FakeCore().ids)
    assert command == Command("correct", (("symptom", ("B.2", "D.2.1")),))


@pytest.mark.parametrize("word", ["again", "post", "off", "on", "correct"])
def test_the_author_may_not_what_maintainers_may(word: str) -> None:
    command = Command(word)  # type: ignore[arg-type]
    assert not may(command, "read", is_author=True)
    assert may(command, "write", is_author=False)


def test_a_correction_is_stored_with_who_and_when_and_shown(triaged: tuple[World, FakeIssue]) -> None:
    world, issue = triaged
    issue.body += f" token {SECRET}"
    outcome = world.say(issue, "maria", "/triage symptom=B.2 cause=dependency")
    assert outcome.kind == "command"
    [correction] = world.store.given.values()
    assert (correction.by, correction.at) == ("maria", world.clock.now())
    assert correction.labels == {"symptom": ("B.2",), "cause": ("dependency",)}
    assert SECRET not in correction.body
    assert "[redacted:" in correction.body
    [ours] = world.ours(issue)
    assert "Set by a maintainer: Hang & timeout, Dependency" in ours.body
    assert issue.labels == ["setup-hang"]
    assert issue.comments[-1].reactions == [(BOT, "+1")]


def test_a_correction_outlives_an_edit(triaged: tuple[World, FakeIssue]) -> None:
    world, issue = triaged
    world.say(issue, "maria", "/triage symptom=B.2")
    issue.body += " And more."
    world.opened(issue, "edited")
    assert "Set by a maintainer" in world.ours(issue)[0].body


def test_dismiss_by_the_author_folds_the_comment_for_good(triaged: tuple[World, FakeIssue]) -> None:
    world, issue = triaged
    world.say(issue, "reporter", "/triage dismiss")
    [ours] = world.ours(issue)
    assert len(ours.body.splitlines()) == 2
    issue.body += " And more."
    assert world.opened(issue, "edited").reason == "dismissed"
    world.say(issue, "maria", "/triage")
    assert "Watchdog" in world.ours(issue)[0].body


def test_explain_adds_a_fold(triaged: tuple[World, FakeIssue]) -> None:
    world, issue = triaged
    world.say(issue, "reporter", "/triage explain")
    [ours] = world.ours(issue)
    assert "How the bot got there" in ours.body
    assert "`D.2.1` 83%" in ours.body


def test_a_result_is_stored_redacted_and_read_with_the_report(triaged: tuple[World, FakeIssue]) -> None:
    world, issue = triaged
    seen: list[str] = []

    def answer(report: Report) -> Triage:
        seen.append(report.body)
        return a_triage(report)

    world.core.answer = answer
    world.say(issue, "reporter", f"/triage result\nmy key is {SECRET}\n{result_block()}")
    [(_, kept)] = world.store.pasted.values()
    assert (kept.by, kept.by_maintainer) == ("reporter", False)
    assert SECRET not in kept.text
    assert parse_result(kept.text)[0].rank == 3
    assert parse_result(seen[-1])[0].rank == 3
    assert issue.comments[-1].reactions == [(BOT, "+1")]


@pytest.mark.parametrize(
    "text", ["it still hangs", result_block()[:-40], result_block().replace("29500", "29501")]
)
def test_a_result_that_is_not_whole_is_marked(triaged: tuple[World, FakeIssue], text: str) -> None:
    world, issue = triaged
    assert world.say(issue, "reporter", f"/triage result\n{text}").reason == "broken_result"
    assert issue.comments[-1].reactions == [(BOT, "confused")]
    assert world.store.pasted == {}


def test_off_and_on_again(triaged: tuple[World, FakeIssue]) -> None:
    world, issue = triaged
    world.say(issue, "maria", "/triage off")
    other = world.issue("Second", "It hangs at the first barrier after loading")
    assert world.opened(other).reason == "switched_off"
    assert other.comments == []
    world.say(issue, "maria", "/triage on")
    assert issue.comments[-1].reactions == [(BOT, "+1")]
    assert world.opened(other).kind == "written"


@pytest.mark.parametrize(
    "body", ["/triage", "/triage off", "/triage symptom=B.2", "/triage dismiss", "/triage nonsense"]
)
def test_strangers_get_nothing(triaged: tuple[World, FakeIssue], body: str) -> None:
    world, issue = triaged
    before = len(world.fake.writes())
    assert world.say(issue, "mallory", body).reason == "no_right"
    assert len(world.fake.writes()) == before
    assert world.store.given == {}
    assert world.store.off == set()


def test_a_bot_gets_nothing(triaged: tuple[World, FakeIssue]) -> None:
    world, issue = triaged
    world.repo.permissions["other[bot]"] = "admin"
    assert world.say(issue, "other[bot]", "/triage off").reason == "bot"


def test_a_malformed_command_of_a_maintainer_is_marked(triaged: tuple[World, FakeIssue]) -> None:
    world, issue = triaged
    world.say(issue, "maria", "/triage symptom=Z.9")
    assert issue.comments[-1].reactions == [(BOT, "confused")]


def test_a_command_is_done_once(triaged: tuple[World, FakeIssue]) -> None:
    world, issue = triaged
    world.say(issue, "maria", "/triage off")
    world.say(issue, "maria", "/triage on")
    assert world.repeat(issue, issue.comments[-2]).reason == "done_before"
    assert world.store.off == set()


def test_an_edited_command_is_another_one(triaged: tuple[World, FakeIssue]) -> None:
    world, issue = triaged
    world.say(issue, "maria", "/triage symptom=B.2")
    issue.comments[-1].body = "/triage symptom=D.2.1"
    world.repeat(issue, issue.comments[-1], "edited")
    [correction] = world.store.given.values()
    assert correction.labels == {"symptom": ("D.2.1",)}


def test_who_edits_anothers_comment_does_not_command(triaged: tuple[World, FakeIssue]) -> None:
    world, issue = triaged
    comment = world.fake.add_comment(issue, "maria", "/triage off")
    data = {"id": comment.id, "body": comment.body, "user": comment.user}
    payload = world.fake.payload(REPO, issue, "edited", comment=data, sender=user("mallory"))
    assert world.deliver("issue_comment", payload).reason == "edited_by_another"


def test_in_shadow_a_command_works_and_nothing_is_written(world: World) -> None:
    world.repo.permissions["maria"] = "admin"
    issue = world.issue()
    assert world.say(issue, "maria", "/triage symptom=B.2").kind == "command"
    assert len(world.store.given) == 1
    assert world.fake.writes() == []


def test_a_locked_issue_gets_no_reaction(triaged: tuple[World, FakeIssue]) -> None:
    world, issue = triaged
    issue.locked = True
    before = len(world.fake.writes())
    world.say(issue, "maria", "/triage symptom=B.2")
    assert len(world.fake.writes()) == before
    assert len(world.store.given) == 1
