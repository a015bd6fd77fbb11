"""Fixtures of the GitHub tests: a fake GitHub on a real socket, the real PyGithub against it."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest

from bot.github.app import App
from bot.github.ports import Ports
from tests.bot.fake_core import FakeCore
from tests.bot.fake_github import APP_ID, FakeGitHub, serve
from tests.bot.memory_store import MemoryStore, StillClock
from tests.bot.service.databases import database, server_url
from tests.bot.world import World

__all__ = ["database", "server_url"]

# A deadline a case measures the machine's other work, not the code.
hypothesis.settings.register_profile("bot", deadline=None)
hypothesis.settings.load_profile("bot")


@pytest.fixture(scope="session")
def _served() -> Iterator[tuple[FakeGitHub, str]]:
    state = FakeGitHub()
    with serve(state) as url:
        yield state, url


@pytest.fixture
def fake_url(_served: tuple[FakeGitHub, str]) -> str:
    """The root of the fake GitHub's API."""
    return _served[1]


@pytest.fixture
def world(_served: tuple[FakeGitHub, str]) -> World:
    """A repository acme/train that wants comments and labels, an App, a store, a still clock."""
    fake, url = _served
    fake.reset()
    clock, store, core = StillClock(), MemoryStore(), FakeCore()
    pauses = lambda: clock.now().timestamp()  # noqa: E731
    app = App(APP_ID, fake.private_key, api_url=url, seconds_between_writes=0, clock=pauses)
    return World(fake, store, clock, core, Ports(app, store, clock, core))
