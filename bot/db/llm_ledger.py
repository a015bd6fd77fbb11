"""Ledgers that several processes share: SQLite in the data folder on one machine, else the PostgreSQL server."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import psycopg

from bot.settings import Settings
from llm.budget import Ledger
from llm.faults import LedgerDown

_WAIT = 2.0
"""Seconds that a database may keep a triage waiting; it counts towards the bound of the whole."""
_KEEP = 92
"""Days that spending is kept."""


class SqlLedger:
    """`llm.budget.Ledger` in a table llm_spending (day, scope, dollars); one transaction a call."""

    mark = "?"

    def reserve(self, day: str, limits: Mapping[str, float | None], amount: float) -> bool:
        """See the protocol. Raises `LedgerDown`."""
        with self._transaction() as database:
            for scope, limit in limits.items():
                if limit is not None and self._spent(database, day, scope) + amount > limit:
                    return False
            for scope in limits:
                self._add(database, day, scope, amount)
            oldest = (date.fromisoformat(day) - timedelta(days=_KEEP)).isoformat()
            database.execute(f"DELETE FROM llm_spending WHERE day < {self.mark}", (oldest,))
        return True

    def settle(self, day: str, scopes: tuple[str, ...], change: float) -> None:
        """See the protocol. When the database is gone the worst case stays booked."""
        with suppress(LedgerDown), self._transaction() as database:
            for scope in scopes:
                self._add(database, day, scope, change)

    def spent(self, day: str, scope: str) -> float:
        """See the protocol. Raises `LedgerDown`."""
        with self._transaction() as database:
            return self._spent(database, day, scope)

    def forget(self, scope: str) -> int:
        """Delete a scope, in any case of letters; how many rows. Raises `LedgerDown`."""
        with self._transaction() as database:
            query = f"DELETE FROM llm_spending WHERE lower(scope) = lower({self.mark})"
            return int(database.execute(query, (scope,)).rowcount)

    def _spent(self, database: Any, day: str, scope: str) -> float:
        query = f"SELECT dollars FROM llm_spending WHERE day = {self.mark} AND scope = {self.mark}"
        row = database.execute(query, (day, scope)).fetchone()
        return float(row[0]) if row else 0.0

    def _add(self, database: Any, day: str, scope: str, dollars: float) -> None:
        query = (
            f"INSERT INTO llm_spending (day, scope, dollars) VALUES ({self.mark}, {self.mark}, {self.mark})"
            " ON CONFLICT (day, scope) DO UPDATE SET dollars = llm_spending.dollars + excluded.dollars"
        )
        database.execute(query, (day, scope, dollars))

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        raise NotImplementedError
        yield


class FileLedger(SqlLedger):
    """In an SQLite file of its own, for one machine."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._file, timeout=_WAIT, isolation_level=None)) as database:
                database.execute(
                    "CREATE TABLE IF NOT EXISTS llm_spending"
                    " (day TEXT, scope TEXT, dollars REAL NOT NULL, PRIMARY KEY (day, scope))"
                )
                # At once for writing: two processes that both only read first could both find room.
                database.execute("BEGIN IMMEDIATE")
                yield database
                database.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            raise LedgerDown(detail=type(error).__name__) from None


class PostgresLedger(SqlLedger):
    """In the database that all machines share; a connection a call, as an LLM call costs far more."""

    mark = "%s"

    def __init__(self, url: str) -> None:
        self._url = url

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        try:
            with psycopg.connect(self._url, connect_timeout=int(_WAIT)) as database:
                database.execute(f"SET LOCAL statement_timeout = {int(1000 * _WAIT)}".encode())
                database.execute("SELECT pg_advisory_xact_lock(hashtextextended('llm_spending', 0))")
                yield database
        except psycopg.Error as error:
            raise LedgerDown(detail=type(error).__name__) from None


def open_ledger(settings: Settings) -> Ledger:
    """The ledger by the settings; nothing is connected yet."""
    if settings.database_url is not None:
        return PostgresLedger(settings.database_url.get_secret_value())
    return FileLedger(settings.data_dir / "llm_spending.sqlite")


def forget_spending(settings: Settings, repository: str) -> int:
    """Delete what the file ledger holds of a repository; how many rows. PostgreSQL's is `bot.db.forget`'s."""
    file = settings.data_dir / "llm_spending.sqlite"
    if settings.database_url is not None or not file.exists():
        return 0
    return FileLedger(file).forget(repository)
