from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bot.fake_github import FakeGitHub, serve
from tests.bot.service.databases import fresh_database, running_server


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    with running_server() as url:
        yield url


@pytest.fixture
def database(server_url: str) -> Iterator[str]:
    with fresh_database(server_url) as url:
        yield url


@pytest.fixture
def fake() -> Iterator[FakeGitHub]:
    state = FakeGitHub()
    with serve(state) as url:
        state.url = url  # type: ignore[attr-defined]
        yield state


@pytest.fixture
def key_file(fake: FakeGitHub, tmp_path: Path) -> Path:
    file = tmp_path / "app.pem"
    file.write_text(fake.private_key)
    return file


@pytest.fixture
def port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
