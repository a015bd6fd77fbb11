from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bot.service.conftest import opened
from tests.bot.slack.fake_slack import FakeSlack, serve

__all__ = ["opened"]


@pytest.fixture
def fake() -> Iterator[FakeSlack]:
    """A Slack on a real socket; at the end it must have refused nothing for its form."""
    state = FakeSlack()
    with serve(state):
        yield state
    assert state.refusals == []
