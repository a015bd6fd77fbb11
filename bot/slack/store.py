"""The Slack tables: installations, triages, results, corrections, and counts that several processes share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from bot.db.connect import Table, clean_json, clean_text
from bot.slack.records import Installation, SlackCorrection, SlackReply, SlackTriage
from knowledge.triage import Triage

KEEP_DAYS = 90
"""How long a triage is kept after which its buttons say so."""
_OF_WORKSPACE = ("slack_triages", "slack_corrections", "slack_calls", "slack_installations")


class SlackStore(Table):
    """Over a pool; safe to call from several threads and processes; each call is its own transaction."""

    def install(self, installation: Installation) -> None:
        """Keep an installation; a newer one of the same workspace replaces it."""
        row = {name: getattr(installation, name) for name in Installation.__dataclass_fields__}
        self._put("slack_installations", {**row, "name": clean_text(installation.name)}, key=("workspace",))

    def installation(self, workspace: str) -> Installation | None:
        """The app in this workspace."""
        row = self._row("SELECT * FROM slack_installations WHERE workspace = %s", (workspace,))
        return Installation(**row) if row else None

    def installations(self, most: int) -> list[Installation]:
        """Where the app is installed, the newest first."""
        query = "SELECT * FROM slack_installations ORDER BY installed_at DESC LIMIT %s"
        return [Installation(**row) for row in self._rows(query, (most,))]

    @contextmanager
    def alone_with(self, workspace: str) -> Iterator[None]:
        """Hold a workspace's token: all processes that want to renew it line up here."""
        with self._pool.connection() as connection, connection.transaction():
            connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended('slack token:' || %s, 1))", (workspace,)
            )
            yield

    def uninstall(self, workspace: str, at: datetime) -> bool:
        """Delete the token and everything else of the workspace, unless it was installed again after `at`."""
        with self._pool.connection() as connection, connection.transaction():
            newer = connection.execute(
                "SELECT 1 FROM slack_installations WHERE workspace = %s AND installed_at > %s",
                (workspace, at),
            ).fetchone()
            if newer is not None:
                return False
            for table in _OF_WORKSPACE:
                connection.execute(f"DELETE FROM {table} WHERE workspace = %s".encode(), (workspace,))
            connection.execute(
                "DELETE FROM deliveries WHERE source = 'slack' AND event NOT IN ('uninstall', 'revoked')"
                " AND payload ->> 'workspace' = %s",
                (workspace,),
            )
            return True

    def save_triage(self, triage: SlackTriage) -> None:
        """Keep a triage; a second run of the same delivery replaces it."""
        self._put(
            "slack_triages",
            {
                "id": triage.id,
                "workspace": triage.workspace,
                "asker": triage.asker,
                "channel": triage.channel,
                "body": clean_text(triage.body),
                "notes": [clean_text(note) for note in triage.notes],
                "triage": clean_json(triage.triage.model_dump(mode="json")),
                "at": triage.at,
            },
            key=("id",),
        )

    def triage(self, workspace: str, id_: str) -> SlackTriage | None:
        """A triage of this workspace."""
        return self._one("workspace = %s AND id = %s", workspace, id_)

    def triage_of_thread(self, workspace: str, channel: str, ts: str) -> SlackTriage | None:
        """The triage whose shared answer is this message."""
        return self._one("workspace = %s AND shared_channel = %s AND shared_ts = %s", workspace, channel, ts)

    def last_triage(self, workspace: str, asker: str, channel: str, since: datetime) -> SlackTriage | None:
        """The asker's newest triage in this channel."""
        where = "workspace = %s AND asker = %s AND channel = %s AND at > %s ORDER BY at DESC LIMIT 1"
        return self._one(where, workspace, asker, channel, since)

    def share(self, id_: str, channel: str, ts: str | None) -> None:
        """The triage's answer stands in this channel, for all to see."""
        self._run(
            "UPDATE slack_triages SET shared_channel = %s, shared_ts = %s WHERE id = %s", (channel, ts, id_)
        )

    def save_result(self, delivery_id: str, triage_id: str, by: str, text: str, at: datetime) -> None:
        """Keep a diagnostics result that belongs to a triage."""
        row = {
            "delivery_id": delivery_id,
            "triage_id": triage_id,
            "by_user": by,
            "text": clean_text(text),
            "at": at,
        }
        self._put("slack_results", row, key=("delivery_id",))

    def results(self, triage_id: str) -> list[str]:
        """The results given so far, oldest first."""
        query = "SELECT text FROM slack_results WHERE triage_id = %s ORDER BY at, delivery_id"
        return [row["text"] for row in self._rows(query, (triage_id,))]

    def save_reply(self, triage_id: str, reply: SlackReply, at: datetime) -> None:
        """Keep what a message adds; the same message replaces it, and one without text takes it away."""
        if reply.text:
            row = {
                "triage_id": triage_id,
                "ts": reply.ts,
                "by_user": reply.by,
                "text": clean_text(reply.text),
            }
            self._put("slack_replies", {**row, "at": at}, key=("triage_id", "ts"), keep=("at",))
        else:
            self._run("DELETE FROM slack_replies WHERE triage_id = %s AND ts = %s", (triage_id, reply.ts))

    def replies(self, triage_id: str) -> list[SlackReply]:
        """What the messages in the thread add, oldest first."""
        query = "SELECT ts, by_user AS by, text FROM slack_replies WHERE triage_id = %s ORDER BY at, ts"
        return [SlackReply(**row) for row in self._rows(query, (triage_id,))]

    def count_update(self, triage_id: str) -> None:
        """One more reply changed what the answer is made from."""
        self._run("UPDATE slack_triages SET updates = updates + 1 WHERE id = %s", (triage_id,))

    def save_correction(self, correction: SlackCorrection) -> None:
        """Keep a correction; a second run of the same delivery replaces it."""
        self._put(
            "slack_corrections",
            {
                "delivery_id": correction.delivery_id,
                "workspace": correction.workspace,
                "triage_id": correction.triage_id,
                "by_user": correction.by,
                "labels": clean_json(correction.labels),
                "body": clean_text(correction.body),
                "at": correction.at,
                "same": clean_text(correction.same),
            },
            key=("delivery_id",),
        )

    def corrections(self, triage_id: str) -> list[SlackCorrection]:
        """The corrections of a triage, oldest first."""
        query = "SELECT * FROM slack_corrections WHERE triage_id = %s ORDER BY at, delivery_id"
        return [
            SlackCorrection(
                row["delivery_id"],
                row["workspace"],
                row["triage_id"],
                row["by_user"],
                {axis: tuple(ids) for axis, ids in row["labels"].items()},
                row["body"],
                row["at"],
                row["same"],
            )
            for row in self._rows(query, (triage_id,))
        ]

    def forget(self, now: datetime) -> None:
        """Delete what is too old to be of use."""
        for table, days in (("slack_triages", KEEP_DAYS), ("slack_sends", 30), ("slack_reply_uses", 1)):
            self._run(f"DELETE FROM {table} WHERE at < %s - make_interval(days => %s)", (now, days))

    def _one(self, where: str, *values: object) -> SlackTriage | None:
        row: dict[str, Any] | None = self._row(f"SELECT * FROM slack_triages WHERE {where}", values)
        if row is None:
            return None
        kept = {**row, "notes": tuple(row["notes"]), "triage": Triage.model_validate(row["triage"])}
        return SlackTriage(**kept)


# Counts that several processes share: calls a minute, messages sent, uses of a response URL.

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
