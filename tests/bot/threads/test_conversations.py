"""Every staged conversation, in this process with the shipped engine: one comment that fits the whole thread.

`make test-soak` plays them through the running service, whose worker is killed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from bot.runtime.core import NamedCore
from knowledge.engine import Knowledge, triage
from knowledge.report import Report
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import Triage
from tests.bot.threads.stage import Conversation, Stage, conversations
from tests.bot.world import World

ALL = conversations()


class Engine:
    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    def triage(self, report: Report) -> Triage:
        return triage(report, self._knowledge)


@pytest.fixture
def real(world: World, knowledge: Knowledge) -> Iterator[World]:
    """The world with the shipped engine."""
    world.ports = replace(world.ports, core=NamedCore(Engine(knowledge), load_taxonomy()))
    yield world


def play(world: World, conversation: Conversation, *, at_once: bool = False) -> Stage:
    def tell(event: str, payload: dict[str, Any]) -> None:
        world.deliver(event, payload)
        world.clock.forward(300)

    stage = Stage(world.fake, conversation, tell, at_once=at_once)
    stage.open()
    for step in conversation.steps:
        stage.step(step)
    stage.end()
    return stage


def test_there_are_thirty_and_each_has_a_name_of_its_own() -> None:
    assert len({one.name for one in ALL}) == len(ALL) >= 30


@pytest.mark.parametrize("conversation", ALL, ids=[one.name for one in ALL])
def test_it_ends_with_one_comment_that_fits_the_whole_thread(real: World, conversation: Conversation) -> None:
    step_by_step = play(real, conversation)
    assert step_by_step.problems(real.store) == []
    if not conversation.ends.get("remembers"):
        # It does not matter how often the bot looked.
        at_once = play(real, conversation, at_once=True)
        assert [c.body for c in step_by_step.ours] == [c.body for c in at_once.ours]
        assert sorted(step_by_step.issue.labels) == sorted(at_once.issue.labels)
