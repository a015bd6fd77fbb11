"""From the settings to an open, migrated database: the configured server, else the embedded one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from bot.db.embedded import start_embedded
from bot.db.migrate import upgrade
from bot.settings import Settings
from knowledge.errors import SettingsError


def clean_text(text: str) -> str:
    """The text with every NUL and lone surrogate replaced by U+FFFD; any other text is returned as it is."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean_json(value: Any) -> Jsonb:
    """A JSON value that PostgreSQL accepts: strings cleaned, infinities and not-a-numbers null."""
    return Jsonb(_clean(value))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(str(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


SyncPool = ConnectionPool[psycopg.Connection[tuple[object, ...]]]
AsyncPool = AsyncConnectionPool[psycopg.AsyncConnection[tuple[object, ...]]]


@contextmanager
def database_url(settings: Settings) -> Iterator[str]:
    """The URL of a server that answers; the embedded server is started, and left at the end.

    Raises `SettingsError` when the configured server cannot be reached.
    """
    if settings.database_url is None:
        server = start_embedded(settings.data_dir)
        try:
            yield server.url
        finally:
            server.leave()
        return
    url = settings.database_url.get_secret_value()
    try:
        psycopg.connect(url, connect_timeout=10).close()
    except psycopg.Error as error:
        raise SettingsError(
            f"The database does not answer: {' '.join(str(error).split())}.",
            "Check DISTRIAGE_DATABASE_URL (postgresql://user:password@host/name) and that the server is running.",
        ) from None
    yield url


@contextmanager
def migrated_database(settings: Settings) -> Iterator[str]:
    """`database_url`, with the schema brought up to date first."""
    with database_url(settings) as url:
        upgrade(url)
        yield url


def sync_pool(url: str, size: int) -> SyncPool:
    """A closed pool for threads, of at most `size` connections; every statement commits by itself."""
    return ConnectionPool(url, min_size=1, max_size=size, open=False, kwargs={"autocommit": True})


def async_pool(url: str, size: int) -> AsyncPool:
    """The same for the event loop."""
    # Not by `kwargs`: procrastinate opens its listening connection with those and autocommit of its own.
    return AsyncConnectionPool(url, min_size=1, max_size=size, open=False, timeout=5.0, configure=_autocommit)


async def _autocommit(connection: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
    await connection.set_autocommit(True)
