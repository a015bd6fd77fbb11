"""Reports and waves in PostgreSQL (bot/db/migrations/0031_waves.sql)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from bot.db.connect import Row, Table, clean_json, clean_text
from bot.history.records import PastIssue
from bot.history.search import TITLE_CHARS
from bot.history.waves import BEFORE, Burst, Key, Noted, Rate, Wave
from knowledge.text.quote import clean

KEEP = timedelta(days=180)
"""How long a report is kept: twice as long as the rate is counted over."""
_NOTED = (
    "installation_id, repo_id, repo_name, number, opened, author, title, keys, versions, framework, launcher"
)
_CHANGED = ("keys", "since", "last", "ended_at")
_BEGUN = ("installation_id", "repo_id", "repo_name", *_CHANGED, "earlier", "after", "after_day")
_IN_HISTORY = {"failure": "failures", "signature": "signatures"}


class WaveTables(Table):
    """`bot.history.waves.WaveStore` over a pool, and what fills it; each call is its own transaction."""

    def note(self, report: Noted, same: Iterable[int], answered_at: datetime | None) -> None:
        """Keep a report that was read, open as it is; `same`: earlier reports of the repository, the nearest first.

        Reports that are the same as one share the key of the first of them.
        """
        row = {
            **{name: clean_text(getattr(report, name)) for name in _TEXTS},
            "installation": report.installation_id,
            "repo": report.repo_id,
            "number": report.number,
            "opened": report.opened,
            "keys": [clean_text(key) for key in report.keys],
            "versions": clean_json(dict(report.versions)),
            "near": next(iter(same), report.number),
            "answered": answered_at,
        }
        self._run(_NOTE, row)

    def note_read(
        self, installation_id: int, repo_id: int, repo_name: str, issues: Iterable[PastIssue], now: datetime
    ) -> None:
        """Keep whom the newer ones of these issues wait for, as a back-fill read them; what a triage noted stays."""
        rows: list[Row] = [
            {
                "installation": installation_id,
                "repo": repo_id,
                "repo_name": clean_text(repo_name),
                "number": int(one.post.id),
                "opened": one.post.opened,
                "author": clean_text(one.author),
                "title": clean_text(clean(one.post.title)[:TITLE_CHARS]),
                "answered": one.answered_at,
                "closed": one.outcome.closed_at,
            }
            for one in issues
            if one.author and one.post.opened is not None and one.post.opened > now - BEFORE
        ]
        with self._pool.connection() as connection, connection.transaction(), connection.cursor() as cursor:
            cursor.executemany(_NOTE_READ.encode(), rows)

    def answered(self, repo_id: int, number: int, at: datetime) -> None:
        """Somebody of the project wrote below the issue; the first time counts."""
        self._run(
            "UPDATE noted_reports SET answered_at = coalesce(answered_at, %s) WHERE repo_id = %s AND number = %s",
            (at, repo_id, number),
        )

    def closed(self, repo_id: int, number: int, at: datetime) -> None:
        """The issue was closed."""
        self._run(
            "UPDATE noted_reports SET closed_at = %s WHERE repo_id = %s AND number = %s",
            (at, repo_id, number),
        )

    def drop(self, repo_id: int, number: int) -> None:
        """The issue was deleted or moved elsewhere."""
        self._run("DELETE FROM noted_reports WHERE repo_id = %s AND number = %s", (repo_id, number))

    def forget(self, repo_ids: Iterable[int], installation_id: int | None = None) -> None:
        """Delete everything of these repositories and of all those of the installation."""
        for table in ("noted_reports", "waves"):
            self._run(
                f"DELETE FROM {table} WHERE repo_id = ANY(%s) OR installation_id = %s",
                (list(repo_ids), installation_id),
            )

    def forget_old(self, now: datetime) -> None:
        """Delete what is too old to be counted."""
        self._run("DELETE FROM noted_reports WHERE opened < %s", (now - KEEP,))
        self._run("DELETE FROM waves WHERE ended_at < %s", (now - BEFORE,))

    def bursts(self, since: datetime, until: datetime, least: int) -> list[Burst]:
        """See the protocol."""
        rows = self._rows(
            "SELECT repo_id, key, count(*) AS reports FROM noted_reports,"
            " unnest(keys) AS key WHERE opened > %(since)s AND opened <= %(until)s AND NOT backfilled"
            " GROUP BY repo_id, key HAVING count(DISTINCT author) >= %(least)s",
            {"since": since, "until": until, "least": least},
        )
        return [self._burst(row["repo_id"], row["key"], since, until) for row in rows]

    def _burst(self, repo_id: int, key: Key, since: datetime, until: datetime) -> Burst:
        rows = self._rows(
            f"SELECT {_NOTED} FROM noted_reports WHERE repo_id = %s AND opened > %s AND opened <= %s"
            " AND NOT backfilled ORDER BY opened, number",
            (repo_id, since, until),
        )
        return Burst(key, tuple(_noted(row) for row in rows if key in row["keys"]), len(rows))

    def rate(self, repo_id: int, key: Key, since: datetime, until: datetime) -> Rate:
        """See the protocol: what was noted, or what the back-filled history holds, whichever knows of more."""
        values = {"repo": repo_id, "key": key, "since": since, "until": until}
        found = [self._one(_NOTED_RATE, values)]
        kind, _, id = key.partition(":")
        if kind in _IN_HISTORY:
            found.append(self._one(_HISTORY_RATE, {**values, "kind": _IN_HISTORY[kind], "id": id}))
        begun = [row["first"] for row in found if row["first"] is not None]
        return Rate(
            max(row["earlier"] for row in found),
            max(row["total"] for row in found),
            (until - min(begun)) / timedelta(days=1) if begun else 0.0,
        )

    def first_on(self, repo_id: int, component: str, version: str) -> datetime | None:
        """See the protocol; "2.6" is a version "2.6.1", too."""
        row = self._one(_FIRST_ON, {"repo": repo_id, "name": component, "version": version})
        found: datetime | None = row["first"]
        return found

    def waves(self, *, running: bool) -> list[Wave]:
        """See the protocol; the newest first."""
        rows = self._rows(
            "SELECT * FROM waves WHERE NOT %s OR ended_at IS NULL ORDER BY last DESC, id DESC", (running,)
        )
        return [Wave(**{**row, "keys": tuple(row["keys"])}) for row in rows]

    def reports(self, wave: Wave) -> list[Noted]:
        """See the protocol."""
        rows = self._rows(
            f"SELECT {_NOTED} FROM noted_reports WHERE repo_id = %s AND keys && %s AND opened >= %s AND NOT backfilled"
            " AND (%s::timestamptz IS NULL OR opened <= %s) ORDER BY opened, number",
            (wave.repo_id, list(wave.keys), wave.since, wave.ended_at, wave.last),
        )
        return [_noted(row) for row in rows]

    def begin(self, wave: Wave) -> None:
        """See the protocol."""
        self._put("waves", {name: _value(getattr(wave, name)) for name in _BEGUN})

    def change(self, wave: Wave) -> None:
        """See the protocol."""
        self._run(
            f"UPDATE waves SET {', '.join(f'{name} = %({name})s' for name in _CHANGED)} WHERE id = %(id)s",
            {name: _value(getattr(wave, name)) for name in ("id", *_CHANGED)},
        )

    def told(self, wave_id: int, channel: str, ts: str | None, told: str) -> None:
        """Keep where the message about a wave is (`ts` None: perhaps nowhere), and what it says."""
        self._run(
            "UPDATE waves SET slack_channel = %s, slack_ts = %s, told = %s WHERE id = %s",
            (channel, ts, told, wave_id),
        )

    def _one(self, query: str, values: Row) -> Row:
        row = self._row(query, values)
        assert row is not None
        return row


_TEXTS = ("repo_name", "author", "title", "framework", "launcher")
# A report read again keeps the group that it was in, lest an edit takes it out of a wave.
_NOTE = f"""
INSERT INTO noted_reports ({_NOTED}, answered_at)
VALUES (%(installation)s, %(repo)s, %(repo_name)s, %(number)s, %(opened)s, %(author)s, %(title)s,
  %(keys)s::text[] || coalesce(
    (SELECT array_agg(key) FROM noted_reports, unnest(keys) AS key
     WHERE repo_id = %(repo)s AND number = %(near)s AND key LIKE 'same:%%'), ARRAY['same:' || %(near)s::text]),
  %(versions)s, %(framework)s, %(launcher)s, %(answered)s)
ON CONFLICT (repo_id, number) DO UPDATE SET installation_id = excluded.installation_id,
  repo_name = excluded.repo_name, opened = excluded.opened, author = excluded.author, title = excluded.title,
  keys = excluded.keys, versions = excluded.versions, framework = excluded.framework,
  launcher = excluded.launcher, closed_at = NULL, backfilled = false,
  answered_at = coalesce(noted_reports.answered_at, excluded.answered_at)
"""
_NOTE_READ = f"""
INSERT INTO noted_reports ({_NOTED}, answered_at, closed_at, backfilled)
SELECT %(installation)s, %(repo)s, %(repo_name)s, %(number)s, %(opened)s, %(author)s, %(title)s,
  ARRAY['same:' || %(number)s::text], '{{}}', '', '', %(answered)s, %(closed)s, true
FROM history_repos WHERE repo_id = %(repo)s
ON CONFLICT (repo_id, number) DO UPDATE SET closed_at = excluded.closed_at,
  answered_at = coalesce(noted_reports.answered_at, excluded.answered_at)
"""
_NOTED_RATE = """
SELECT count(*) FILTER (WHERE %(key)s = ANY(keys)) AS earlier, count(*) AS total, min(opened) AS first
FROM noted_reports WHERE repo_id = %(repo)s AND opened > %(since)s AND opened <= %(until)s AND NOT backfilled
"""
_HISTORY_RATE = """
SELECT count(*) FILTER (WHERE i.record -> %(kind)s::text ? %(id)s::text) AS earlier, count(*) AS total,
       min(i.opened) AS first
FROM history_issues AS i JOIN history_repos AS r ON r.key = i.repo
WHERE r.repo_id = %(repo)s AND i.opened > %(since)s AND i.opened <= %(until)s
"""
_FITS = "({0} = %(version)s OR {0} LIKE %(version)s::text || '.%%' OR {0} LIKE %(version)s::text || '+%%')"
_FIRST_ON = f"""
SELECT least(
  (SELECT min(opened) FROM noted_reports WHERE repo_id = %(repo)s AND {_FITS.format("versions ->> %(name)s::text")}),
  (SELECT min(i.opened) FROM history_issues AS i JOIN history_repos AS r ON r.key = i.repo
   WHERE r.repo_id = %(repo)s AND {_FITS.format("record -> 'versions' ->> %(name)s::text")})) AS first
"""


def _noted(row: Row) -> Noted:
    return Noted(**{**row, "keys": tuple(row["keys"])})


def _value(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
