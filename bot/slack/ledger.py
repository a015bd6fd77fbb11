"""Counts that several processes share: calls a minute, messages sent, uses of a response URL."""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.db.table import Table

MINUTE = timedelta(minutes=1)
REPLY_USES = 5
"""https://docs.slack.dev/interactivity/handling-user-interaction#message_responses"""


class Ledger(Table):
    """Over a pool; each call is its own transaction."""

    def admit(self, workspace: str, call_id: str, limit: int, now: datetime) -> float:
        """Count a call; 0.0 = it may go on, else seconds to wait. Slack's retry of a call counts once.

        Calls of one workspace line up here, so that the limit holds for all processes together.
        """
        with self._pool.connection() as connection, connection.transaction():
            connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended('slack:' || %s, 1))", (workspace,)
            )
            connection.execute(
                "DELETE FROM slack_calls WHERE workspace = %s AND at <= %s", (workspace, now - MINUTE * 60)
            )
            if connection.execute("SELECT 1 FROM slack_calls WHERE id = %s", (call_id,)).fetchone():
                return 0.0
            rows = connection.execute(
                "SELECT at FROM slack_calls WHERE workspace = %s AND at > %s ORDER BY at",
                (workspace, now - MINUTE),
            ).fetchall()
            times = [row[0] for row in rows if isinstance(row[0], datetime)]
            if len(times) >= limit:
                return max(1.0, (times[len(times) - limit] + MINUTE - now).total_seconds())
            connection.execute("INSERT INTO slack_calls VALUES (%s, %s, %s)", (call_id, workspace, now))
            return 0.0

    def begin(self, delivery_id: str, what: str, now: datetime) -> bool:
        """Note that a message goes out; False when it has, or may have, gone out before."""
        return (
            self._run(
                "INSERT INTO slack_sends VALUES (%s, %s, false, %s) ON CONFLICT DO NOTHING",
                (delivery_id, what, now),
            )
            > 0
        )

    def sent(self, delivery_id: str, what: str) -> None:
        """It is there."""
        self._run(
            "UPDATE slack_sends SET sent = true WHERE delivery_id = %s AND what = %s", (delivery_id, what)
        )

    def not_sent(self, delivery_id: str, what: str) -> None:
        """It has certainly not gone out, so that the next run may try again."""
        self._run("DELETE FROM slack_sends WHERE delivery_id = %s AND what = %s", (delivery_id, what))

    def use_reply(self, digest: str, now: datetime) -> bool:
        """Take one of a response URL's uses; False when there is none left."""
        return (
            self._run(
                "INSERT INTO slack_reply_uses AS r VALUES (%s, 1, %s)"
                " ON CONFLICT (digest) DO UPDATE SET uses = r.uses + 1 WHERE r.uses < %s",
                (digest, now, REPLY_USES),
            )
            > 0
        )
