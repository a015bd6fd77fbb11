from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from bot.runtime.resources import Service, open_service
from bot.settings import Settings

OpenService = Callable[..., AbstractAsyncContextManager[Service]]


@pytest.fixture
def opened(database: str) -> OpenService:
    """Opens a service on the test's database, with the given settings besides those of every test."""

    @asynccontextmanager
    async def open_one(**settings: Any) -> AsyncIterator[Service]:
        values = {"github_webhook_secret": SecretStr("s1, s2"), "edit_delay": 0.0, **settings}
        async with open_service(Settings(**values), database) as service:
            yield service

    return open_one
