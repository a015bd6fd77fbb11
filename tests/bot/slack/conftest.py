from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bot.service.conftest import database, opened, server_url
from tests.bot.slack.fake_slack import FakeSlack, serve

__all__ = ["database", "opened", "server_url"]


@pytest.fixture
def fake() -> Iterator[FakeSlack]:
    """A Slack on a real socket; at the end it must have refused nothing for its form."""
    state = FakeSlack()
    with serve(state):
        yield state
    assert state.refusals == []
