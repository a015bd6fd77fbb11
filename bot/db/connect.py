"""From the settings to an open, migrated database, and statements over a pool of its connections."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from procrastinate.schema import SchemaManager
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb, set_json_loads
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from pydantic_core import from_json

from bot.db.embedded import start_embedded
from bot.settings import Settings
from knowledge.errors import SettingsError

# Twice as fast as the standard library's; a search of a history reads 200 documents.
set_json_loads(from_json)

# Migrations: plain SQL files applied once each, in the order of their names, under one lock.
#
# The job queue's own schema comes from procrastinate: its full schema on an empty database, afterwards each of its
# migration files that is new in an upgraded package.

_OURS = Path(__file__).parent / "migrations"
_LOCK = 0x64697374
"""Any number of ours: two processes that start together migrate one after the other."""


def upgrade(url: str) -> list[str]:
    """Bring the database to the newest schema; returns the names of what was applied, often none."""
    with psycopg.connect(url) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations"
            " (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        done = {str(row[0]) for row in connection.execute("SELECT name FROM migrations")}
        applied = _upgrade_queue(connection, done)
        for file in sorted(_OURS.glob("*.sql")):
            if file.name not in done:
                _run(connection, file)
                applied.append(file.name)
        _note(connection, applied)
    return applied


def pending(url: str) -> list[str]:
    """Names of the migrations that the database still lacks, without changing it."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT to_regclass('migrations')").fetchone()
        known = row is not None and row[0] is not None
        done = {str(r[0]) for r in connection.execute("SELECT name FROM migrations")} if known else set()
    names = [file.name for file in (*_queue_files(), *sorted(_OURS.glob("*.sql")))]
    return [name for name in names if name not in done]


def _upgrade_queue(connection: psycopg.Connection, done: set[str]) -> list[str]:
    files = [file for file in _queue_files() if file.name not in done]
    row = connection.execute("SELECT to_regclass('procrastinate_jobs')").fetchone()
    if row is None or row[0] is None:
        connection.execute(SchemaManager.get_schema())
    else:
        for file in files:
            _run(connection, file)
    return [file.name for file in files]


def _queue_files() -> list[Path]:
    return sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))


def _run(connection: psycopg.Connection, file: Path) -> None:
    connection.execute(file.read_bytes())


def _note(connection: psycopg.Connection, names: list[str]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO migrations (name) VALUES (%s)", [(name,) for name in names])


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
        # libpq adds a question on further lines.
        reason = str(error).partition("\n")[0].removeprefix("connection failed: ").rstrip(".")
        raise SettingsError(
            f"Can't connect to the database: {reason}.",
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


# Statements over a pool of connections, the base of every room's tables.

Row = dict[str, Any]


class Table:
    """Statements over a pool; each is its own transaction."""

    def __init__(self, pool: SyncPool) -> None:
        self._pool = pool

    def _put(self, table: str, row: Row, key: Sequence[str] = (), keep: Sequence[str] = ()) -> None:
        """Insert the row; one with the same key is replaced, except for the columns in `keep`."""
        names = sql.SQL(", ").join(map(sql.Identifier, row))
        query = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
            sql.Identifier(table), names, sql.SQL(", ").join(map(sql.Placeholder, row))
        )
        changed = [name for name in row if name not in (*key, *keep)]
        if key:
            query += sql.SQL(" ON CONFLICT ({}) DO ").format(sql.SQL(", ").join(map(sql.Identifier, key)))
        if key and changed:
            query += sql.SQL("UPDATE SET ") + sql.SQL(", ").join(
                sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in changed
            )
        elif key:
            query += sql.SQL("NOTHING")
        with self._pool.connection() as connection:
            connection.execute(query, row)

    def _run(self, query: str, values: Row | Sequence[object]) -> int:
        with self._pool.connection() as connection:
            return connection.execute(query.encode(), values).rowcount

    def _rows(self, query: str, values: Row | Sequence[object]) -> list[Row]:
        with self._pool.connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query.encode(), values).fetchall()

    def _row(self, query: str, values: Row | Sequence[object]) -> Row | None:
        with self._pool.connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query.encode(), values).fetchone()
