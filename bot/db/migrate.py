"""Migrations: plain SQL files applied once each, in the order of their names, under one lock.

The job queue's own schema comes from procrastinate: its full schema on an empty database, afterwards each of
its migration files that is new in an upgraded package.
"""

from __future__ import annotations

from pathlib import Path

import psycopg
from procrastinate.schema import SchemaManager

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
