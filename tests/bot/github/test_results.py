"""Which diagnostics results count for an issue."""

from __future__ import annotations

from bot.github.case import MOST, MOST_CHARS, pasted_results
from bot.github.records import PastedResult
from knowledge.report import Report
from knowledge.triage import Triage
from tests.bot.fake_core import a_triage
from tests.bot.fake_github import FakeIssue
from tests.bot.world import World

BLOCK = "```distriage-result\n{n}\n```"


def add(world: World, issue: FakeIssue, text: str) -> int:
    comment = world.fake.add_comment(issue, "reporter", "/triage result")
    result = PastedResult(comment.id, "reporter", False, text)
    world.store.save_result(world.ref(issue), result, world.clock.now())
    world.clock.forward(1)
    return comment.id


def standing(world: World, issue: FakeIssue) -> tuple[str, ...]:
    assert world.ports.app is not None
    github, ref = world.ports.app.installation(1), world.ref(issue)
    found = pasted_results(github, world.ports, ref, github.issue(ref), github.comments(ref))
    return tuple(result.text for result in found.results)


def test_blocks_alone_count(world: World) -> None:
    issue = world.issue()
    add(world, issue, "torch  1.2.3\n" * 4000 + BLOCK.format(n=1) + "\nmore\n" + BLOCK.format(n=2))
    [found] = standing(world, issue)
    assert found == BLOCK.format(n=1) + "\n" + BLOCK.format(n=2)


def test_the_newest_few_count_oldest_first(world: World) -> None:
    issue = world.issue()
    for n in range(MOST + 3):
        add(world, issue, BLOCK.format(n=n))
    assert standing(world, issue) == tuple(BLOCK.format(n=n) for n in range(3, MOST + 3))


def test_all_together_stay_below_a_size(world: World) -> None:
    issue = world.issue()
    for n in range(MOST):
        add(world, issue, BLOCK.format(n=str(n) * 60_000))
    found = standing(world, issue)
    assert len(found) == 4
    assert sum(map(len, found)) <= MOST_CHARS
    assert "7777" in found[-1]


def test_a_result_whose_comment_is_gone_is_forgotten(world: World) -> None:
    issue = world.issue()
    first, second = add(world, issue, BLOCK.format(n=1)), add(world, issue, BLOCK.format(n=2))
    issue.comments = [c for c in issue.comments if c.id != first]
    assert standing(world, issue) == (BLOCK.format(n=2),)
    assert list(world.store.pasted) == [second]
    read: list[str] = []

    def reading(report: Report) -> Triage:
        read.append(report.body)
        return a_triage(report)

    world.core.answer = reading
    world.opened(issue)
    assert read == [f"{issue.body}\n\n{BLOCK.format(n=2)}"]
