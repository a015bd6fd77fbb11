"""Deletes all that is stored of one repository.

Every table with a column `repo_id` belongs to repositories, so that a table that is added later is covered, too;
tests/bot/service/test_forget.py fails for one that is neither covered nor known to hold nothing of a repository.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg import sql

_NAMES = ("repo_name", "full_name")
_COLUMNS = """
SELECT table_name::text, column_name::text FROM information_schema.columns
WHERE table_schema = current_schema() AND column_name = ANY(%s)
"""
_BY_PAYLOAD = """
payload -> 'repository' ->> 'id' = ANY(%(texts)s::text[])
OR lower(payload -> 'repository' ->> 'full_name') = lower(%(name)s)
"""
_COMMANDS = """
DELETE FROM commands_done WHERE comment_id IN (
  SELECT comment_id FROM corrections WHERE repo_id = ANY(%(ids)s)
  UNION SELECT comment_id FROM diagnostics_results WHERE repo_id = ANY(%(ids)s))
"""
_JOBS = f"""
DELETE FROM procrastinate_jobs WHERE status = 'todo' AND task_name = 'delivery'
AND args ->> 'delivery_id' IN (SELECT id FROM deliveries WHERE {_BY_PAYLOAD})
"""


def forget(url: str, name: str, *, really: bool) -> dict[str, int]:
    """Delete the rows of the repository "owner/name" in one transaction; table to number of rows.

    Without `really` nothing is deleted, and the rows are only counted.
    """
    with psycopg.connect(url) as connection:
        counted = _deleted(connection, name)
        if not really:
            connection.rollback()
    return {table: rows for table, rows in counted.items() if rows}


def _deleted(connection: psycopg.Connection[Any], name: str) -> dict[str, int]:
    columns: dict[str, set[str]] = {}
    for table, column in connection.execute(_COLUMNS, (["repo_id", *_NAMES],)):
        columns.setdefault(table, set()).add(column)
    ids = sorted(set(_ids(connection, columns, name)))
    values = {"ids": ids, "texts": [str(id_) for id_ in ids], "name": name}
    rows = {
        "commands_done": connection.execute(_COMMANDS, values).rowcount,
        "procrastinate_jobs": connection.execute(_JOBS.encode(), values).rowcount,
        "deliveries": connection.execute(
            f"DELETE FROM deliveries WHERE {_BY_PAYLOAD}".encode(), values
        ).rowcount,
        "llm_spending": connection.execute(
            "DELETE FROM llm_spending WHERE lower(scope) = lower(%(name)s)", values
        ).rowcount,
    }
    for table, found in sorted(columns.items()):
        query = sql.SQL("DELETE FROM {} WHERE {}").format(sql.Identifier(table), _is_its(found))
        rows[table] = connection.execute(query, values).rowcount
    return rows


def _ids(connection: psycopg.Connection[Any], columns: dict[str, set[str]], name: str) -> Iterator[int]:
    """Every id under which the repository is known; a renamed one has rows under both names."""
    for table, found in columns.items():
        for column in found & set(_NAMES) if "repo_id" in found else ():
            query = sql.SQL(
                "SELECT DISTINCT repo_id FROM {} WHERE lower({}) = lower(%s) AND repo_id IS NOT NULL"
            )
            rows = connection.execute(query.format(sql.Identifier(table), sql.Identifier(column)), (name,))
            yield from (int(row[0]) for row in rows)
    rows = connection.execute(
        "SELECT DISTINCT payload -> 'repository' ->> 'id' FROM deliveries"
        " WHERE lower(payload -> 'repository' ->> 'full_name') = lower(%s)",
        (name,),
    )
    yield from (int(row[0]) for row in rows if row[0] and row[0].isdecimal())


def _is_its(columns: set[str]) -> sql.Composable:
    tests: list[sql.Composable] = [sql.SQL("repo_id = ANY(%(ids)s)")] if "repo_id" in columns else []
    tests += [
        sql.SQL("lower({}) = lower(%(name)s)").format(sql.Identifier(column))
        for column in columns & set(_NAMES)
    ]
    return sql.SQL(" OR ").join(tests)
