"""The deliveries as the worker and the operator see them: state, attempts, outcome, error.

queued -> done | superseded | dead; a dead one is queued again by `bot deliveries retry` or by a redelivery.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from psycopg.rows import class_row

from bot.db.connect import SyncPool, clean_text

State = Literal["queued", "done", "superseded", "dead"]


def subject_of(payload: dict[str, Any]) -> str:
    """What a delivery is about: "owner/name#12", or the repository alone; "" where its payload does not say."""
    repository, issue = payload.get("repository"), payload.get("issue")
    name = repository.get("full_name") if isinstance(repository, dict) else None
    number = issue.get("number") if isinstance(issue, dict) else None
    return f"{name or ''}{f'#{number}' if number is not None else ''}"


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """A row of the table; `attempts` counts the runs so far, the present one included."""

    id: str
    source: str
    event: str
    action: str | None
    lock: str
    payload: dict[str, Any]
    state: State
    attempts: int
    outcome: str | None
    reason: str | None
    error: str | None
    received_at: datetime
    finished_at: datetime | None
    detail: list[str] = field(default_factory=list)
    """Rules of the gate that a refused write broke."""
    waits: int = 0
    """How often it was put off for no fault of its own."""

    @property
    def subject(self) -> str:
        """See `subject_of`."""
        return subject_of(self.payload)


_COLUMNS = (
    "id, source, event, action, lock, payload, state, attempts,"
    " outcome, reason, error, received_at, finished_at, detail, waits"
)


class Deliveries:
    """Reads and changes deliveries; each call is its own transaction."""

    def __init__(self, pool: SyncPool) -> None:
        self._pool = pool

    def lock(self, delivery_id: str) -> str | None:
        """The name under which its issue's work excludes one another; None when it is unknown or has ended."""
        with self._pool.connection() as connection:
            row = connection.execute(
                "SELECT lock FROM deliveries WHERE id = %s AND state = 'queued'", (delivery_id,)
            ).fetchone()
        return str(row[0]) if row else None

    def begin(self, delivery_id: str) -> StoredDelivery | None:
        """Count a run and return the delivery; None when it is unknown or has ended."""
        return self._one(
            "UPDATE deliveries SET attempts = attempts + 1 WHERE id = %s AND state = 'queued'"
            f" RETURNING {_COLUMNS}",
            delivery_id,
        )

    def put_off(self, delivery_id: str) -> None:
        """Count a run that ended for no fault of the delivery's (rate limit, outage) as a wait, not an attempt."""
        self._run(
            "UPDATE deliveries SET attempts = attempts - 1, waits = waits + 1 WHERE id = %s AND attempts > 0",
            delivery_id,
        )

    def supersede(self, delivery_id: str) -> bool:
        """End it if a newer one that replaces it waits; that one has a job of its own."""
        return self._run(
            "UPDATE deliveries AS old SET state = 'superseded', finished_at = clock_timestamp()"
            " WHERE old.id = %s AND old.state = 'queued' AND old.coalesce_key IS NOT NULL AND EXISTS ("
            "  SELECT 1 FROM deliveries AS new WHERE new.coalesce_key = old.coalesce_key"
            "  AND new.state = 'queued' AND new.seq > old.seq)",
            delivery_id,
        )

    def finish(self, delivery_id: str, outcome: str, reason: str, detail: Sequence[str] = ()) -> None:
        """Its work is done."""
        self._run(
            "UPDATE deliveries SET state = 'done', outcome = %s, reason = %s, detail = %s, error = NULL,"
            " finished_at = clock_timestamp() WHERE id = %s",
            clean_text(outcome),
            clean_text(reason),
            [clean_text(rule) for rule in detail],
            delivery_id,
        )

    def note_error(self, delivery_id: str, error: str, *, dead: bool) -> None:
        """Keep why the last run failed; `dead` ends it."""
        self._run(
            "UPDATE deliveries SET error = %s, state = CASE WHEN %s THEN 'dead' ELSE state END,"
            " finished_at = CASE WHEN %s THEN clock_timestamp() END WHERE id = %s AND state = 'queued'",
            clean_text(error),
            dead,
            dead,
            delivery_id,
        )

    def show(self, delivery_id: str) -> StoredDelivery | None:
        """One delivery, as it is."""
        return self._one(f"SELECT {_COLUMNS} FROM deliveries WHERE id = %s", delivery_id)

    def newest(self, state: State | None = None, limit: int = 50) -> list[StoredDelivery]:
        """The last ones received, newest first."""
        with (
            self._pool.connection() as connection,
            connection.cursor(row_factory=class_row(StoredDelivery)) as c,
        ):
            c.execute(
                f"SELECT {_COLUMNS} FROM deliveries WHERE %(state)s::text IS NULL OR state = %(state)s"
                " ORDER BY received_at DESC, seq DESC LIMIT %(limit)s",
                {"state": state, "limit": limit},
            )
            return c.fetchall()

    def forget(self, days: int) -> int:
        """Delete the ones that ended well more than `days` days ago; returns how many."""
        with self._pool.connection() as connection:
            return connection.execute(
                "DELETE FROM deliveries WHERE state IN ('done', 'superseded')"
                " AND finished_at < now() - make_interval(days => %s)",
                (days,),
            ).rowcount

    def _one(self, query: str, *values: object) -> StoredDelivery | None:
        with (
            self._pool.connection() as connection,
            connection.cursor(row_factory=class_row(StoredDelivery)) as c,
        ):
            return c.execute(query.encode(), values).fetchone()

    def _run(self, query: str, *values: object) -> bool:
        with self._pool.connection() as connection:
            return connection.execute(query.encode(), values).rowcount > 0
