from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bot.service.databases import fresh_database, running_server


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    with running_server() as url:
        yield url


@pytest.fixture
def database(server_url: str) -> Iterator[str]:
    with fresh_database(server_url) as url:
        yield url
