"""What the maintainers' page says of a tracker as a whole: waves, what fails most, who waits for whom, histories."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from bot.db.connect import Row, Table, clean_text
from bot.history.wave_store import WaveTables
from bot.history.waves import Noted, Wave, headline, name_of_key, sentences, subject
from bot.page.histories import HistoryState, HistoryStates
from bot.page.tables import SEEN, Seen

RECENT = timedelta(days=28)
"""What fails most and what was answered is counted over so long."""
WAITING = timedelta(days=90)
"""Issues opened longer ago are not counted among those that wait."""
LISTED = 10


@dataclass(frozen=True, slots=True)
class ShownWave:
    """A wave in words."""

    repo: str
    headline: str
    subject: str
    sentences: list[str]
    reports: list[Noted]
    ended: bool


@dataclass(frozen=True, slots=True)
class Failing:
    """A failure, how many reports show it, and how many did in the same time before."""

    name: str
    count: int
    before: int
    repo: str
    newest: int
    """Number of its newest report."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An issue that waits for somebody, and since when."""

    repo: str
    number: int
    title: str
    since: datetime
    why: str


@dataclass(frozen=True, slots=True)
class TrackerState:
    """Everything, for one installation or all."""

    waves: list[ShownWave] = field(default_factory=list)
    failing: list[Failing] = field(default_factory=list)
    on_author: list[Waiting] = field(default_factory=list)
    on_author_count: int = 0
    on_maintainers: list[Waiting] = field(default_factory=list)
    on_maintainers_count: int = 0
    answered: list[Waiting] = field(default_factory=list)
    answered_count: int = 0
    histories: list[HistoryState] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to say."""
        shown = (self.waves, self.failing, self.on_author, self.on_maintainers, self.answered, self.histories)
        return not any(shown)


_OURS = f"{SEEN.format('r')} AND (%(repo)s = '' OR r.repo_name = %(repo)s)"
_FAILING = f"""
SELECT key, repo_name, count(*) FILTER (WHERE opened > %(since)s) AS reports,
  count(*) FILTER (WHERE opened <= %(since)s) AS before, max(number) AS newest,
  array_agg(number) FILTER (WHERE opened > %(since)s) AS numbers
FROM noted_reports AS r, unnest(keys) AS key WHERE {_OURS} AND opened > %(earlier)s AND key NOT LIKE 'same:%%'
GROUP BY key, repo_name HAVING count(*) FILTER (WHERE opened > %(since)s) >= 2
ORDER BY reports DESC, key LIKE 'signature:%%', newest DESC LIMIT 60
"""
_ASKED = """
SELECT repo_id, number, min(asked_at) AS since, string_agg(ask, ' ' ORDER BY asked_at, item) AS asks
FROM requests WHERE state = 'open' GROUP BY repo_id, number
"""
_ON_AUTHOR = f"""
SELECT r.repo_name, r.number, r.title, q.since, q.asks AS why, count(*) OVER () AS total
FROM noted_reports AS r JOIN ({_ASKED}) AS q USING (repo_id, number)
WHERE {_OURS} AND r.closed_at IS NULL AND r.opened > %(waiting)s ORDER BY q.since, r.number LIMIT {LISTED}
"""
_ON_MAINTAINERS = f"""
SELECT r.repo_name, r.number, r.title, r.opened AS since, count(*) OVER () AS total, CASE
  WHEN EXISTS (SELECT 1 FROM requests AS q WHERE q.repo_id = r.repo_id AND q.number = r.number
    AND q.state = 'arrived') THEN 'what was asked for has arrived' ELSE '' END AS why
FROM noted_reports AS r LEFT JOIN ({_ASKED}) AS q USING (repo_id, number)
WHERE {_OURS} AND r.closed_at IS NULL AND r.answered_at IS NULL AND q.number IS NULL AND r.opened > %(waiting)s
ORDER BY r.opened, r.number LIMIT {LISTED}
"""
_ANSWERED = f"""
SELECT r.repo_name, r.number, r.title, count(*) OVER () AS total,
  greatest(r.answered_at, r.closed_at) AS since, CASE
  WHEN r.closed_at IS NULL THEN 'answered' WHEN s.pull_request <> '' THEN 'closed by ' || s.pull_request
  WHEN s.commit <> '' THEN 'closed by ' || left(s.commit, 10)
  WHEN s.reason <> '' THEN 'closed (' || replace(s.reason, '_', ' ') || ')' ELSE 'closed' END AS why
FROM noted_reports AS r LEFT JOIN resolutions AS s USING (repo_id, number)
WHERE {_OURS} AND greatest(r.answered_at, r.closed_at) > %(since)s
ORDER BY since DESC, r.number DESC LIMIT {LISTED}
"""


class TrackerTables(Table):
    """Reads for the page; `repo` "" means all."""

    def state(self, seen: Seen, repo: str, now: datetime) -> TrackerState:
        """The state of the trackers that may be seen."""
        values: Row = seen.values() | {
            "repo": clean_text(repo),
            "since": now - RECENT,
            "earlier": now - 2 * RECENT,
            "waiting": now - WAITING,
        }
        on_author, on_author_count = self._waiting(_ON_AUTHOR, values)
        on_maintainers, on_maintainers_count = self._waiting(_ON_MAINTAINERS, values)
        answered, answered_count = self._waiting(_ANSWERED, values)
        return TrackerState(
            waves=self._waves(seen, repo),
            failing=_distinct(self._rows(_FAILING, values)),
            on_author=on_author,
            on_author_count=on_author_count,
            on_maintainers=on_maintainers,
            on_maintainers_count=on_maintainers_count,
            answered=answered,
            answered_count=answered_count,
            histories=HistoryStates(self._pool).states(seen, repo),
        )

    def _waves(self, seen: Seen, repo: str) -> list[ShownWave]:
        """Those that run first; at most ten."""
        tables = WaveTables(self._pool)
        found = [
            wave
            for wave in tables.waves(running=False)
            if seen.covers(wave.installation_id, wave.repo_id) and repo in ("", wave.repo_name)
        ]
        found.sort(key=lambda wave: wave.ended_at is not None)
        return [_shown(wave, tables.reports(wave)) for wave in found[:LISTED]]

    def _waiting(self, query: str, values: Row) -> tuple[list[Waiting], int]:
        rows = self._rows(query, values)
        listed = [Waiting(r["repo_name"], r["number"], r["title"], r["since"], r["why"]) for r in rows]
        return listed, rows[0]["total"] if rows else 0


def _shown(wave: Wave, reports: list[Noted]) -> ShownWave:
    name, _ = subject(wave.keys, reports)
    said = sentences(wave, reports)
    return ShownWave(
        wave.repo_name, headline(wave, reports), name, said, reports[::-1], wave.ended_at is not None
    )


def _distinct(rows: list[dict[str, Any]]) -> list[Failing]:
    """The most frequent; a signature whose reports all show a failure that is listed says nothing new."""
    listed: list[Failing] = []
    seen: dict[str, set[int]] = {}
    for row in rows:
        numbers, known = set(row["numbers"]), seen.setdefault(row["repo_name"], set())
        if numbers <= known or len(listed) == LISTED:
            continue
        known |= numbers
        name = name_of_key(row["key"])
        listed.append(Failing(name, row["reports"], row["before"], row["repo_name"], row["newest"]))
    return listed
