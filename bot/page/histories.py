"""How far repositories' histories are read, and whether there is a replay to look at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.db.connect import Row, Table, clean_text
from bot.history.records import Progress, RepoHistory
from bot.history.store import PostgresHistory
from bot.page.sign_in import Session
from bot.page.tables import SEEN, Seen

RUNS = timedelta(minutes=5)
"""A back-fill whose last page is older waits for GitHub, or was stopped."""
NEWS = timedelta(days=14)
"""So long the list points at a new replay."""


@dataclass(frozen=True, slots=True)
class HistoryState:
    """A repository's history, how far it was read, and whether there is a replay of it."""

    key: int
    """0 = nothing of it is kept yet."""
    repo: str
    issues: int
    """0 where they were not counted."""
    progress: Progress
    queued: bool
    """A back-fill waits or runs."""
    failed: bool
    replay_queued: bool
    replayed_at: datetime | None
    triaged: bool
    """Whether an issue of it was triaged."""

    @property
    def last(self) -> datetime | None:
        """When the last page was kept."""
        return datetime.fromisoformat(self.progress.at) if self.progress.at else None

    @property
    def reading(self) -> bool:
        """Whether pages came until just now: `bot backfill` runs, too."""
        recent = self.last is not None and datetime.now(UTC) - self.last < RUNS
        return bool(self.progress.cursor) and recent

    @property
    def busy(self) -> bool:
        """Whether it will soon look different."""
        return self.queued or self.reading or self.replay_queued

    @property
    def news(self) -> bool:
        """Whether there is something to point at: a new replay, or one to come in a repository without a triage."""
        if self.replayed_at is None:
            return self.busy and not self.triaged
        return not self.triaged or self.replayed_at > datetime.now(UTC) - NEWS


_JOB = """EXISTS (SELECT 1 FROM deliveries WHERE state = '{1}'
    AND coalesce_key = '{0}:' || coalesce(r.repo_id::text, r.repo))"""
_STATES = f"""
SELECT r.*,
  {_JOB.format("backfill", "queued")} AS queued,
  {_JOB.format("backfill", "dead")} AS failed,
  {_JOB.format("replay", "queued")} AS replay_queued,
  EXISTS (SELECT 1 FROM triages AS t WHERE t.repo_id = r.repo_id) AS triaged
FROM (
  SELECT key, repo_id, installation_id, full_name AS repo, progress,
    CASE WHEN %(counted)s THEN (SELECT count(*) FROM history_issues WHERE repo = key) ELSE 0 END AS issues,
    (SELECT at FROM history_replays AS p WHERE p.repo = key) AS replayed_at
  FROM history_repos
  UNION ALL
  -- Of a repository just installed nothing is kept until a worker begins.
  SELECT DISTINCT 0, (payload -> 'repository' ->> 'id')::bigint, (payload -> 'installation' ->> 'id')::bigint,
    payload -> 'repository' ->> 'full_name', '{{}}'::jsonb, 0, NULL::timestamptz
  FROM deliveries WHERE source = 'history' AND event = 'backfill' AND state = 'queued'
    AND NOT EXISTS (SELECT 1 FROM history_repos AS k WHERE k.repo_id::text = payload -> 'repository' ->> 'id')
) AS r
WHERE {SEEN.format("r")} AND (%(repo)s = '' OR r.repo = %(repo)s)
ORDER BY r.repo LIMIT 100
"""


class HistoryStates(Table):
    """Reads for the page."""

    def states(self, seen: Seen, repo: str = "", *, counted: bool = True) -> list[HistoryState]:
        """Those that may be seen, by name; `repo` "" means all. Counting the issues takes longest."""
        values: Row = seen.values() | {"repo": clean_text(repo), "counted": counted}
        return [_state(row) for row in self._rows(_STATES, values)]

    def news(self, seen: Seen) -> list[HistoryState]:
        """Those that the list points at."""
        return [one for one in self.states(seen, counted=False) if one.news]


def history_shown(store: PostgresHistory, session: Session, key: int) -> RepoHistory | None:
    """The history, where there is one and this session may see it."""
    repo = store.by_key(key) if key else None
    return repo if repo is not None and Seen.of(session).covers(repo.installation_id, repo.repo_id) else None


def _state(row: Row) -> HistoryState:
    return HistoryState(
        key=row["key"],
        repo=row["repo"],
        issues=row["issues"],
        progress=Progress(**row["progress"]),
        queued=row["queued"],
        failed=row["failed"],
        replay_queued=row["replay_queued"],
        replayed_at=row["replayed_at"],
        triaged=row["triaged"],
    )
