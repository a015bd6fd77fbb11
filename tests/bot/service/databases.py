"""One PostgreSQL for a test run, a fresh migrated database for each test."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from bot.db.connect import upgrade
from bot.db.embedded import start_embedded

TEMPLATE = "migrated"


@contextmanager
def running_server() -> Iterator[str]:
    """The URL of an embedded server in a folder of its own, with a migrated template database."""
    folder = Path(tempfile.mkdtemp(prefix="dt-", dir="/tmp"))  # short: the socket lies in it
    folder.chmod(0o755)
    server = start_embedded(folder)
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {TEMPLATE}".encode())
    upgrade(named(server.url, TEMPLATE))
    try:
        yield server.url
    finally:
        server.leave()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def fresh_database(server_url: str, template: str | None = TEMPLATE) -> Iterator[str]:
    """The URL of a new database, migrated unless `template` is None; dropped at the end."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} {f'TEMPLATE {template}' if template else ''}".encode())
        try:
            yield named(server_url, name)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def named(url: str, database: str) -> str:
    """The same server's URL for another database."""
    head, _, tail = url.partition("/postgres?")
    return f"{head}/{database}?{tail}"


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """One server for all tests of a run that share this fixture."""
    with running_server() as url:
        yield url


@pytest.fixture
def database(server_url: str) -> Iterator[str]:
    """A fresh migrated database."""
    with fresh_database(server_url) as url:
        yield url
