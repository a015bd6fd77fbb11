from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bot.fake_github import FakeGitHub, serve
from tests.bot.service.databases import database, server_url

__all__ = ["database", "server_url"]


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
