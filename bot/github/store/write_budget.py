"""GitHub's budget of content writes, shared by all workers through the database."""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.github.store.columns import Table

WINDOWS = ((timedelta(minutes=1), 80), (timedelta(hours=1), 500))
"""https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api (content creation)"""

_MARGIN = 0.05


def wait_for(writes: list[tuple[datetime, int]], count: int, now: datetime) -> float:
    """Seconds until `count` more writes fit every window after the given ones (oldest first); 0.0 = now.

    A `count` above a window's limit waits for that window to empty.
    """
    wait = 0.0
    for window, limit in WINDOWS:
        recent = [(at, n) for at, n in writes if at > now - window]
        excess = sum(n for _, n in recent) + min(count, limit) - limit
        for at, n in recent:
            if excess <= 0:
                break
            excess -= n
            wait = max(wait, (at + window - now).total_seconds() + _MARGIN)
    return wait


class WriteBudget(Table):
    """The part of `bot.github.ports.Store` that counts writes."""

    def take_writes(self, installation_id: int, count: int, now: datetime) -> float:
        """See the protocol. Workers queue up here, so the limits hold for all of them together."""
        longest = max(window for window, _ in WINDOWS)
        with self._pool.connection() as connection, connection.transaction():
            connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended('content_writes', %s))", (installation_id,)
            )
            connection.execute(
                "DELETE FROM content_writes WHERE installation_id = %s AND at <= %s",
                (installation_id, now - longest),
            )
            rows = connection.execute(
                "SELECT at, count FROM content_writes WHERE installation_id = %s ORDER BY at",
                (installation_id,),
            ).fetchall()
            writes = [(at, n) for at, n in rows if isinstance(at, datetime) and isinstance(n, int)]
            wait = wait_for(writes, count, now)
            if wait == 0.0:
                connection.execute(
                    "INSERT INTO content_writes (installation_id, at, count) VALUES (%s, %s, %s)",
                    (installation_id, now, count),
                )
            return wait
