"""Many issues, a GitHub that fails one call in ten, a worker that dies anywhere: still one comment each."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from bot.github.posting import read_marker
from bot.github.records import CommentNote, IssueRef, TryAgain
from knowledge.report import Report
from tests.bot.fake_github import FakeIssue, random_faults
from tests.bot.memory_store import MemoryStore
from tests.bot.world import World

pytestmark = pytest.mark.long


class Killed(BaseException):
    """The worker's end: nothing may catch it."""


class DyingStore(MemoryStore):
    """Dies now and then before or after it noted something about a comment."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__()
        self.dice = dice

    def save_comment_note(self, issue: IssueRef, note: CommentNote) -> None:
        if self.dice.random() < 0.05:
            raise Killed
        super().save_comment_note(issue, note)
        if self.dice.random() < 0.05:
            raise Killed


def run_to_the_end(world: World, issue: FakeIssue, action: str) -> None:
    """What the queue does: the same delivery again until it is done, later when it asks for that."""
    for _ in range(60):
        try:
            world.opened(issue, action)
        except TryAgain as later:
            world.clock.forward(later.after)
        except Killed:
            continue
        else:
            return
    raise AssertionError(f"issue {issue.number} never came to an end")


def test_one_comment_each_whatever_fails(world: World) -> None:
    dice = random.Random(7)
    world.configure("mode: both\nlabels: {symptom: {D.2.1: hang}}\n")
    world.repo.labels.append("hang")
    world.fake.faults = random_faults(
        0.1, 11, ("500", "502", "secondary", "retry_after", "drop_before", "drop_after")
    )
    world.store = DyingStore(dice)
    world.ports = replace(world.ports, store=world.store)
    issues = [
        world.issue(f"Training hangs {n}", f"Watchdog caught a timeout on rank {n}.") for n in range(60)
    ]
    jobs = [(issue, "opened") for issue in issues] * 2 + [(issue, "edited") for issue in issues[::2]]
    dice.shuffle(jobs)
    for issue, action in jobs:
        if action == "edited":
            issue.body += f"\nEdited: {dice.random()}"
        run_to_the_end(world, issue, action)
    for issue in issues:
        [comment] = world.ours(issue)
        marker = read_marker(comment.body)
        assert marker is not None
        assert marker.input_hash == Report("x", issue.title, issue.body).content_hash
        assert issue.labels == ["hang"]
