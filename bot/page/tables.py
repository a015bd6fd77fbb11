"""What the maintainers' page reads: the list, one triage, what happened to its issue, and the weeks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from bot.db.connect import Row, Table
from bot.github.records import TriageRecord
from bot.github.store.triages import triage_of
from bot.history.label_store import Kind, LabelTables, Vote
from bot.page.sign_in import Session

BY = "maintainers' page"
"""Who decided something after signing in by link, which names nobody."""
PAGE = 50
"""Triages on one page of the list."""
MOST_EVENTS = 200


@dataclass(frozen=True, slots=True)
class Seen:
    """What a session may see; None = all."""

    installation: int | None = None
    repos: tuple[int, ...] | None = None

    @classmethod
    def of(cls, session: Session) -> Seen:
        """Everything that the session may see."""
        return cls(session.installation, session.repos)

    @property
    def everything(self) -> bool:
        """Whether nothing is hidden."""
        return self.installation is None and self.repos is None

    def covers(self, installation: int | None, repo: int | None) -> bool:
        """Whether a repository of an installation is among it."""
        return self.installation in (None, installation) and (self.repos is None or repo in self.repos)

    def values(self) -> Row:
        """As the statements take it."""
        return {"installation": self.installation, "repos": None if self.repos is None else list(self.repos)}


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the list: when (microseconds since 1970, UTC) and the number of the triage there."""

    at: int
    id: int

    @classmethod
    def of(cls, at: datetime, id_: int) -> Cursor:
        """The place of a triage."""
        seconds = int(at.timestamp() // 1)
        return cls(seconds * 1_000_000 + at.microsecond, id_)

    def __str__(self) -> str:
        return f"{self.at}.{self.id}"


@dataclass(frozen=True, slots=True)
class Filters:
    """Which triages to list; None and "" mean any."""

    seen: Seen
    repo: str = ""
    outcome: str = ""
    symptom: str = ""
    corrected: bool | None = None
    draft: bool | None = None
    """True: only those whose drafted answer waits for a decision."""
    before: Cursor | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A row of the list: the newest triage of an issue."""

    id: int
    name: str
    title: str
    at: datetime
    outcome: str
    """posted, would_post or silent."""
    reason: str
    scope: str
    type: str | None
    symptom: str | None
    cause: str | None
    finding: str | None
    sure: bool
    """Whether the finding is probable enough to be said unasked."""
    p: float
    """Of the finding; 0 for none."""
    corrected: bool
    dismissed: bool
    draft: bool
    """Whether a drafted answer waits for a decision."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to an issue; `more` has the details of its kind."""

    at: datetime
    kind: str
    by: str
    text: str
    more: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A triage with what people decided about it and what became of its issue."""

    id: int
    record: TriageRecord
    outcome: str
    """posted, would_post or silent."""
    events: list[Event]
    """Oldest first."""
    draft: str = ""
    """What a maintainer decided about the drafted answer: "post", "reject", or ""."""
    newest: int | None = None
    """The number of the issue's newest triage; None when it is this one."""
    votes: Mapping[tuple[Kind, str], Vote] = field(default_factory=dict)
    """What was said on the page of its labels and of earlier issues, by what it is about."""

    @property
    def corrections(self) -> dict[str, list[str]]:
        """The last word of people on each axis."""
        last: dict[str, list[str]] = {}
        for event in self.events:
            if event.kind == "corrected":
                last |= event.more["labels"]
        return last


@dataclass(frozen=True, slots=True)
class Week:
    """A week (by its Monday, UTC)."""

    start: date
    triages: int
    silent: int
    """Triages that showed nothing to anybody, nor would have."""
    posted: int
    """Comments first written in this week."""
    dismissed: int
    """Of those, the ones that people hid, deleted or disliked."""
    judged: int
    """Axes of triages that a person labelled, here or in Slack (there only where everything is shown)."""
    right: int
    """Of those, the ones where the answer was among the person's labels."""
    seconds: float | None
    """Median from the webhook to the end of its work; None where no delivery of the week is stored."""
    slow_seconds: float | None
    """The same, 95th percentile."""
    dollars: float
    """Spent on the LLM."""


SEEN = """(%(installation)s::bigint IS NULL OR {0}.installation_id = %(installation)s)
  AND (%(repos)s::bigint[] IS NULL OR {0}.repo_id = ANY(%(repos)s))"""
_OUTCOME = """CASE WHEN t.would_post = '' THEN 'silent'
  WHEN t.outcome IN ('written', 'unchanged') THEN 'posted'
  WHEN t.outcome = 'shadow' THEN 'would_post' ELSE 'silent' END"""
_CORRECTED = "EXISTS (SELECT FROM corrections AS c WHERE c.repo_id = t.repo_id AND c.number = t.number)"
_DRAFT = """(coalesce(t.triage #>> '{answer,verified}', '') = 'true' AND NOT EXISTS (SELECT FROM draft_decisions AS f
  WHERE f.repo_id = t.repo_id AND f.number = t.number AND f.input_hash = t.input_hash))"""
# An issue's newest triage is found by the index on (repo_id, number, at): no triage is sorted that is not shown.
_MATCHING = f"""FROM triages AS t
WHERE {SEEN.format("t")}
  AND NOT EXISTS (SELECT FROM triages AS n WHERE n.repo_id = t.repo_id AND n.number = t.number
    AND (n.at, n.id) > (t.at, t.id))"""
# One that is not chosen is left out of the statement, so that the others find their index.
_CHOSEN = {
    "repo": "t.repo_name = %(repo)s",
    "outcome": f"{_OUTCOME} = %(outcome)s",
    "symptom": "t.triage #>> '{symptom,answer,0}' = %(symptom)s",
    "corrected": f"{_CORRECTED} = %(corrected)s",
    "draft": f"{_DRAFT} = %(draft)s",
}
_PLACE = "(timestamptz '1970-01-01Z' + %(at)s::bigint * interval '1 microsecond', %(id)s::bigint)"
_LIST = f"""
SELECT t.id, t.repo_name || '#' || t.number AS name, t.title, t.at, {_OUTCOME} AS outcome, t.reason,
  j.scope, j.type #>> '{{answer,0}}' AS type, j.symptom #>> '{{answer,0}}' AS symptom,
  j.cause #>> '{{answer,0}}' AS cause, j.findings #>> '{{0,title}}' AS finding,
  coalesce((j.findings #>> '{{0,sure}}')::boolean, false) AS sure,
  coalesce((j.findings #>> '{{0,p}}')::float, 0) AS p, {_CORRECTED} AS corrected,
  EXISTS (SELECT FROM dismissals AS d WHERE d.repo_id = t.repo_id AND d.number = t.number) AS dismissed,
  {_DRAFT} AS draft
FROM (SELECT t.* {_MATCHING} {{chosen}}
  AND (%(at)s::bigint IS NULL OR (t.at, t.id) < {_PLACE})
  ORDER BY t.at DESC, t.id DESC LIMIT {PAGE + 1}) AS t
CROSS JOIN LATERAL jsonb_to_record(t.triage) AS j (scope text, type jsonb, symptom jsonb, cause jsonb, findings jsonb)
ORDER BY t.at DESC, t.id DESC
"""
_NEXT = f"""
(SELECT 'newer' AS way, t.id {_MATCHING} {{chosen}} AND (t.at, t.id) > {_PLACE}
  ORDER BY t.at, t.id LIMIT 1)
UNION ALL
(SELECT 'older' AS way, t.id {_MATCHING} {{chosen}} AND (t.at, t.id) < {_PLACE}
  ORDER BY t.at DESC, t.id DESC LIMIT 1)
"""
_ONE = f"""
SELECT t.*, {_OUTCOME} AS shown, coalesce(f.decision, '') AS draft,
  (SELECT n.id FROM triages AS n WHERE n.repo_id = t.repo_id AND n.number = t.number
    AND (n.at, n.id) > (t.at, t.id) ORDER BY n.at DESC, n.id DESC LIMIT 1) AS newest
FROM triages AS t LEFT JOIN draft_decisions AS f USING (repo_id, number, input_hash)
WHERE t.id = %(id)s AND {SEEN.format("t")}
"""
_OF_ISSUE = "WHERE repo_id = %(repo)s AND number = %(number)s"
_EVENTS = f"""
SELECT * FROM (
  SELECT at, 'triaged' AS kind, '' AS by, reason AS text,
    jsonb_build_object('id', id, 'outcome', {_OUTCOME}) AS more FROM triages AS t {_OF_ISSUE}
  UNION ALL SELECT at, 'corrected', by_login, '', jsonb_build_object('labels', labels, 'comment_id', comment_id)
    FROM corrections {_OF_ISSUE}
  UNION ALL SELECT at, 'dismissed', by_login, how, '{{}}' FROM dismissals {_OF_ISSUE}
  UNION ALL SELECT at, CASE WHEN added THEN 'labeled' ELSE 'unlabeled' END, by_login, label,
    jsonb_build_object('by_us', by_us) FROM label_facts {_OF_ISSUE}
  UNION ALL SELECT asked_at, 'asked', '', ask, jsonb_build_object('state', state,
    'ended', to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')) FROM requests {_OF_ISSUE}
  UNION ALL SELECT closed_at, 'closed', by_login, said, to_jsonb(r) FROM resolutions AS r {_OF_ISSUE}
  UNION ALL SELECT at, 'result', by_login, '', jsonb_build_object('by_maintainer', by_maintainer)
    FROM diagnostics_results {_OF_ISSUE}
  UNION ALL SELECT at, 'draft', by_login, decision, '{{}}' FROM draft_decisions {_OF_ISSUE}
  UNION ALL SELECT first_noted, 'commented', '', '', jsonb_build_object('id', comment_id)
    FROM comment_notes {_OF_ISSUE} AND comment_id IS NOT NULL
) AS happened ORDER BY at DESC, kind = 'triaged' LIMIT {MOST_EVENTS}
"""


def _week(column: str) -> str:
    return f"date_trunc('week', {column} AT TIME ZONE 'UTC')"


_WEEKS = f"""
WITH span AS (
  SELECT generate_series({_week("now()")} - interval '11 weeks', {_week("now()")}, '1 week') AS week
), since AS (SELECT min(week) AT TIME ZONE 'UTC' AS at FROM span),
posted AS (
  SELECT {_week("n.first_noted")} AS week, count(*) AS posted, count(d.number) AS dismissed
  FROM comment_notes AS n LEFT JOIN dismissals AS d USING (repo_id, number)
  WHERE n.comment_id IS NOT NULL AND n.first_noted >= (SELECT at FROM since) AND {SEEN.format("n")} GROUP BY week
), found AS (
  SELECT {_week("t.at")} AS week, count(*) AS triages, count(*) FILTER (WHERE {_OUTCOME} = 'silent') AS silent
  FROM triages AS t WHERE t.at >= (SELECT at FROM since) AND {SEEN.format("t")} GROUP BY week
), given AS (
  SELECT c.at, c.labels, t.triage FROM corrections AS c
  CROSS JOIN LATERAL (SELECT triage FROM triages WHERE repo_id = c.repo_id AND number = c.number
    ORDER BY at DESC, id DESC LIMIT 1) AS t
  WHERE c.at >= (SELECT at FROM since) AND {SEEN.format("c")}
  UNION ALL
  SELECT c.at, c.labels, t.triage FROM slack_corrections AS c JOIN slack_triages AS t ON t.id = c.triage_id
  WHERE %(everything)s AND c.at >= (SELECT at FROM since)
), judged AS (
  SELECT {_week("at")} AS week, count(*) AS judged, count(*) FILTER (
    WHERE triage -> axis.key -> 'answer' ->> 0 IN (SELECT jsonb_array_elements_text(axis.value))) AS right_ones
  FROM given CROSS JOIN LATERAL jsonb_each(labels) AS axis GROUP BY week
), timed AS (
  SELECT {_week("received_at")} AS week,
    percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY extract(epoch FROM finished_at - received_at)) AS seconds
  FROM deliveries WHERE source = 'github' AND state = 'done' AND received_at >= (SELECT at FROM since)
    AND outcome IN ('written', 'unchanged', 'shadow', 'silent')
    AND (%(installation)s::bigint IS NULL OR (payload #>> '{{installation,id}}')::bigint = %(installation)s)
    AND (%(repos)s::bigint[] IS NULL OR (payload #>> '{{repository,id}}')::bigint = ANY(%(repos)s))
  GROUP BY week
), spent AS (
  SELECT date_trunc('week', day::timestamp) AS week, sum(dollars) AS dollars FROM llm_spending
  WHERE day >= (SELECT at FROM since)::date AND CASE WHEN %(everything)s THEN scope = '' ELSE scope IN (
    SELECT repo_name FROM triages AS t WHERE {SEEN.format("t")}) END GROUP BY week
)
SELECT week::date AS start, coalesce(triages, 0) AS triages, coalesce(silent, 0) AS silent,
  coalesce(posted, 0) AS posted, coalesce(dismissed, 0) AS dismissed, coalesce(judged, 0) AS judged,
  coalesce(right_ones, 0) AS "right", seconds[1] AS seconds, seconds[2] AS slow_seconds,
  coalesce(dollars, 0) AS dollars
FROM span LEFT JOIN posted USING (week) LEFT JOIN found USING (week) LEFT JOIN judged USING (week)
  LEFT JOIN timed USING (week) LEFT JOIN spent USING (week) ORDER BY week
"""


class ReviewTables(Table):
    """Reads for the page."""

    def triages(self, filters: Filters) -> tuple[list[Listed], bool]:
        """One page of the newest triage of each issue, newest first; True when there are more."""
        rows = self._rows(_narrowed(_LIST, filters), _values(filters, filters.before))
        return [Listed(**row) for row in rows[:PAGE]], len(rows) > PAGE

    def choices(self, seen: Seen) -> tuple[list[str], list[int]]:
        """The names of the repositories and the installations to filter by."""
        query = f"SELECT DISTINCT repo_name, installation_id FROM triages AS t WHERE {SEEN.format('t')}"
        rows = self._rows(query, seen.values())
        return sorted({r["repo_name"] for r in rows}), sorted({r["installation_id"] for r in rows})

    def triage(self, triage_id: int, seen: Seen) -> TriageRecord | None:
        """One triage by its number, where it may be seen."""
        row = self._row(_ONE, {"id": triage_id, **seen.values()})
        return triage_of(row) if row else None

    def reviewed(self, triage_id: int, seen: Seen, by: str = BY) -> Reviewed | None:
        """One triage with all that happened to its issue, and the votes of `by`, where it may be seen."""
        row = self._row(_ONE, {"id": triage_id, **seen.values()})
        if row is None:
            return None
        record = triage_of(row)
        happened = self._rows(_EVENTS, {"repo": record.issue.repo.id, "number": record.issue.number})
        events = [Event(**event) for event in reversed(happened)]
        votes = LabelTables(self._pool).votes_by(by, record.issue.repo.id, record.issue.number)
        return Reviewed(row["id"], record, row["shown"], events, row["draft"], row["newest"], votes)

    def neighbours(self, filters: Filters, at: datetime, triage_id: int) -> dict[str, int]:
        """The triages before and after one in the list, by "newer" and "older"."""
        rows = self._rows(_narrowed(_NEXT, filters), _values(filters, Cursor.of(at, triage_id)))
        return {row["way"]: row["id"] for row in rows}

    def weeks(self, seen: Seen) -> list[Week]:
        """The last twelve weeks, oldest first."""
        rows = self._rows(_WEEKS, {**seen.values(), "everything": seen.everything})
        return [Week(**row) for row in rows]

    def stored_text(self, repo_id: int, number: int) -> tuple[str, str] | None:
        """Title and body (redacted) of the newest webhook of an issue that brought its text; without an App's key."""
        row = self._row(
            "SELECT payload #>> '{issue,title}' AS title, payload #>> '{issue,body}' AS body FROM deliveries"
            " WHERE lock = %s AND payload #>> '{issue,body}' <> '' ORDER BY received_at DESC LIMIT 1",
            (f"github:{repo_id}:{number}",),
        )
        return (row["title"] or "", row["body"]) if row else None


def _narrowed(query: str, filters: Filters) -> str:
    chosen = [clause for name, clause in _CHOSEN.items() if getattr(filters, name) not in ("", None)]
    return query.replace("{chosen}", "".join(f" AND {clause}" for clause in chosen))


def _values(filters: Filters, place: Cursor | None) -> Row:
    return {
        **filters.seen.values(),
        "repo": filters.repo,
        "outcome": filters.outcome,
        "symptom": filters.symptom,
        "corrected": filters.corrected,
        "draft": filters.draft,
        "at": place.at if place else None,
        "id": place.id if place else None,
    }
