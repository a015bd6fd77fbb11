"""Results that people paste: whose they are, how many count, and what never follows from them alone."""

from __future__ import annotations

import pytest

from bot.github.records import PastedResult
from knowledge.diagnostics.result import parse_result
from knowledge.readback import taken_out
from knowledge.report import Report
from knowledge.triage import Triage
from tests.bot.fake_core import a_triage, axis, thin
from tests.bot.fake_github import BOT, FakeIssue
from tests.bot.world import World, result_block

FOUND = "Driver and library: the two do not fit."


def moved(report: Report) -> Triage:
    """The network as it seems, a dependency once a result was pasted that can be read."""
    if taken_out(report)[1] is None:
        return a_triage(report)
    cause = axis(("dependency", 0.9), ("network_environment", 0.05))
    return a_triage(report, cause=cause, measured=[FOUND])


@pytest.fixture
def world(world: World) -> World:
    world.configure(
        "mode: both\nthresholds: {label: 0.6}\n"
        "labels: {cause: {dependency: dependency, network_environment: network}}\n"
    )
    world.repo.labels += ["dependency", "network"]
    world.repo.permissions["maria"] = "write"
    world.core.answer = moved
    return world


@pytest.fixture
def commented(world: World) -> FakeIssue:
    issue = world.issue()
    world.opened(issue)
    assert issue.labels == ["network"]
    return issue


def test_a_strangers_result_moves_no_label_and_the_comment_says_whose_it_is(
    world: World, commented: FakeIssue
) -> None:
    world.say(commented, "reporter", f"/triage result\n{result_block()}")
    assert commented.labels == ["network"]
    body = world.ours(commented)[0].body
    assert FOUND in body
    assert "As pasted by `reporter`, without write access here; nobody has checked it." in body
    assert "@reporter" not in body


def test_a_result_in_the_issues_own_text_counts_as_its_authors(world: World) -> None:
    issue = world.issue(body=f"Watchdog caught a timeout on rank 3.\n{result_block()}")
    world.opened(issue)
    assert issue.labels == ["network"]
    assert "As pasted by `reporter`" in world.ours(issue)[0].body


def test_a_maintainers_result_moves_labels(world: World, commented: FakeIssue) -> None:
    world.say(commented, "maria", f"/triage result\n{result_block()}")
    assert commented.labels == ["dependency"]
    body = world.ours(commented)[0].body
    assert FOUND in body
    assert "As pasted by" not in body


def test_a_result_whose_comment_is_gone_counts_no_more(world: World, commented: FakeIssue) -> None:
    world.say(commented, "reporter", f"/triage result\n{result_block()}")
    del commented.comments[-1]
    world.say(commented, "maria", "/triage")
    assert FOUND not in world.ours(commented)[0].body


def test_a_result_that_the_list_of_comments_does_not_show_yet_counts(
    world: World, commented: FakeIssue
) -> None:
    world.say(commented, "reporter", f"/triage result\n{result_block()}")
    late = commented.comments.pop()
    world.fake.repo("acme/train").issues[99] = FakeIssue(99, "", "", late.user, comments=[late])
    world.say(commented, "maria", "/triage")
    assert FOUND in world.ours(commented)[0].body


def test_of_a_comment_with_a_result_only_its_blocks_are_kept(world: World, commented: FakeIssue) -> None:
    noise = "torch  1.2.3\n" * 1000
    world.say(commented, "reporter", f"/triage result\n{noise}{result_block()}\n{noise}")
    [(_, kept)] = world.store.pasted.values()
    assert "torch" not in kept.text
    assert len(parse_result(kept.text)) == 1


def test_many_results_of_a_stranger_neither_pile_up_nor_displace_a_maintainers(
    world: World, commented: FakeIssue
) -> None:
    seen: list[str] = []

    def answer(report: Report) -> Triage:
        seen.append(report.body)
        return moved(report)

    world.core.answer = answer
    world.say(commented, "maria", f"/triage result\n{result_block(rank=0)}")
    for rank in range(1, 13):
        world.say(commented, "reporter", f"/triage result\n{result_block(rank=rank)}")
    ranks = [one.rank for one in parse_result(seen[-2])]
    assert ranks == [0, 6, 7, 8, 9, 10, 11, 12]


@pytest.mark.parametrize("still_asks", [True, False])
def test_a_result_on_a_comment_that_only_asked_is_answered(world: World, still_asks: bool) -> None:
    world.configure("mode: comment\n")

    def answer(report: Report) -> Triage:
        found = moved(report)
        return found if found.measured else thin(report)

    world.core.answer = answer
    issue = world.issue()
    world.opened(issue)
    assert "of all ranks." in world.ours(issue)[0].body
    if not still_asks:
        world.configure("mode: comment\nsections: [evidence]\n")
    world.say(issue, "reporter", f"/triage result\n{result_block()}")
    assert FOUND in world.ours(issue)[0].body


def test_results_kept_by_a_former_version_count_as_a_strangers(world: World, commented: FakeIssue) -> None:
    comment = world.fake.add_comment(commented, "maria", "a result of old")
    old = PastedResult(comment.id, "maria", False, result_block())
    world.store.save_result(world.ref(commented), old, world.clock.now())
    world.opened(commented, "edited")
    assert commented.labels == ["network"]


@pytest.mark.parametrize(
    "text",
    [
        "what is a ```distriage-result block?",
        result_block()[:-40],
        result_block().replace("29500", "29501"),
        "```distriage-result\n{}\n```",
    ],
)
def test_a_result_in_the_text_that_cannot_be_read_costs_no_triage_and_is_nobodys(
    world: World, text: str
) -> None:
    issue = world.issue(body=f"Watchdog caught a timeout on rank 3.\n{text}\n")
    assert world.opened(issue).reason == "created"
    assert FOUND not in world.ours(issue)[0].body
    world.say(issue, "maria", f"/triage result\n{result_block()}")
    assert issue.comments[-1].reactions == [(BOT, "+1")]
    body = world.ours(issue)[0].body
    assert FOUND in body
    assert "As pasted by" not in body
