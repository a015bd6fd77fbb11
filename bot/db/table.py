"""Statements over a pool of connections, the base of every room's tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg import sql
from psycopg.rows import dict_row

from bot.db.connect import SyncPool

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
