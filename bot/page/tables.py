"""What the maintainers' page shows: triages with their corrections, and how well they did over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from bot.db.table import Table
from bot.github.records import Request, Resolution, TriageRecord
from bot.github.store.outcomes import OutcomeTables
from bot.github.store.triages import issue_of, triage_of
from bot.history.label_store import Kind, LabelTables

PAGE = 25
BY = "maintainers' page"
"""Who decides on the page, where nobody has a name."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which triages to show; None and "" mean any."""

    installation: int | None = None
    repo: str = ""
    outcome: str = ""
    symptom: str = ""
    corrected: bool | None = None
    page: int = 1


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The newest triage of an issue, with the labels given to it by people."""

    id: int
    record: TriageRecord
    corrections: dict[str, list[str]]
    dismissed: bool
    draft: str
    """What a maintainer decided about the drafted answer: "post", "reject", or ""."""
    requests: tuple[Request, ...] = ()
    """What the comment asked for, and whether it came; oldest first."""
    resolution: Resolution | None = None
    """What resolved it; None while it is open."""
    votes: Mapping[tuple[Kind, str], bool] = field(default_factory=dict)
    """What was said on this page of its labels and of earlier issues: by what it is about, whether it is right."""


@dataclass(frozen=True, slots=True)
class Week:
    """A week (by its Monday): comments and their noise, corrections and how many of them agreed."""

    start: date
    triages: int
    posted: int
    dismissed: int
    judged: int
    """Axes of triages that a person labelled, here or in Slack (there only where all installations are shown)."""
    right: int
    """Of those, the ones where the answer was among the person's labels."""


_NEWEST = """
SELECT DISTINCT ON (t.repo_id, t.number) t.*, d.number IS NOT NULL AS dismissed,
  coalesce((SELECT labels FROM corrections AS c WHERE c.repo_id = t.repo_id AND c.number = t.number
    ORDER BY c.at DESC LIMIT 1), '{}') AS corrected,
  coalesce((SELECT decision FROM draft_decisions AS f WHERE f.repo_id = t.repo_id AND f.number = t.number
    AND f.input_hash = t.input_hash), '') AS draft
FROM triages AS t LEFT JOIN dismissals AS d USING (repo_id, number)
WHERE (%(installation)s::bigint IS NULL OR t.installation_id = %(installation)s)
  AND (%(repo)s = '' OR t.repo_name = %(repo)s)
ORDER BY t.repo_id, t.number, t.at DESC, t.id DESC
"""
_FILTERED = f"""
SELECT * FROM ({_NEWEST}) AS newest
WHERE (%(outcome)s = '' OR outcome = %(outcome)s)
  AND (%(symptom)s = '' OR triage -> 'symptom' -> 'answer' ? %(symptom)s)
  AND (%(corrected)s::boolean IS NULL OR (corrected <> '{{}}') = %(corrected)s)
ORDER BY at DESC, id DESC LIMIT {PAGE + 1} OFFSET %(skip)s
"""
_WEEKS = """
WITH posted AS (
  SELECT date_trunc('week', n.first_noted) AS week, count(*) AS posted, count(d.number) AS dismissed
  FROM comment_notes AS n LEFT JOIN dismissals AS d USING (repo_id, number)
  WHERE n.comment_id IS NOT NULL AND (%(installation)s::bigint IS NULL OR n.installation_id = %(installation)s)
  GROUP BY week
), found AS (
  SELECT date_trunc('week', at) AS week, count(*) AS triages FROM triages
  WHERE %(installation)s::bigint IS NULL OR installation_id = %(installation)s GROUP BY week
), given AS (
  SELECT c.at, c.labels, t.triage FROM corrections AS c
  CROSS JOIN LATERAL (SELECT triage FROM triages WHERE repo_id = c.repo_id AND number = c.number
    ORDER BY at DESC, id DESC LIMIT 1) AS t
  WHERE %(installation)s::bigint IS NULL OR c.installation_id = %(installation)s
  UNION ALL
  SELECT c.at, c.labels, t.triage FROM slack_corrections AS c JOIN slack_triages AS t ON t.id = c.triage_id
  WHERE %(installation)s::bigint IS NULL
), judged AS (
  SELECT date_trunc('week', at) AS week, count(*) AS judged,
    count(*) FILTER (WHERE triage -> axis.key -> 'answer' ->> 0 IN (SELECT jsonb_array_elements_text(axis.value)))
      AS right_ones
  FROM given CROSS JOIN LATERAL jsonb_each(labels) AS axis GROUP BY week
)
SELECT week::date AS start, coalesce(triages, 0) AS triages, coalesce(posted, 0) AS posted,
  coalesce(dismissed, 0) AS dismissed, coalesce(judged, 0) AS judged, coalesce(right_ones, 0) AS right_ones
FROM posted FULL JOIN found USING (week) FULL JOIN judged USING (week) ORDER BY week DESC LIMIT 12
"""


class ReviewTables(Table):
    """Reads for the page."""

    def triages(self, filters: Filters) -> tuple[list[Reviewed], bool]:
        """One page of the newest triage of each issue, newest first; True when there are more."""
        rows = self._rows(
            _FILTERED,
            {
                "installation": filters.installation,
                "repo": filters.repo,
                "outcome": filters.outcome,
                "symptom": filters.symptom,
                "corrected": filters.corrected,
                "skip": (filters.page - 1) * PAGE,
            },
        )
        issues = [issue_of(row) for row in rows[:PAGE]]
        outcomes = OutcomeTables(self._pool)
        requests, resolutions = outcomes.requests_of(issues), outcomes.resolutions_of(issues)
        votes = LabelTables(self._pool).votes_by([issue.key for issue in issues], BY)
        shown = [
            Reviewed(
                row["id"],
                triage_of(row),
                row["corrected"],
                row["dismissed"],
                row["draft"],
                tuple(requests.get(issue.key, ())),
                resolutions.get(issue.key),
                votes.get(issue.key, {}),
            )
            for row, issue in zip(rows, issues, strict=False)
        ]
        return shown, len(rows) > PAGE

    def triage(self, triage_id: int) -> TriageRecord | None:
        """One triage by its id."""
        row = self._row("SELECT * FROM triages WHERE id = %s", (triage_id,))
        return triage_of(row) if row else None

    def weeks(self, installation: int | None) -> list[Week]:
        """The last twelve weeks in which something happened, newest first."""
        rows = self._rows(_WEEKS, {"installation": installation})
        return [
            Week(r["start"], r["triages"], r["posted"], r["dismissed"], r["judged"], r["right_ones"])
            for r in rows
        ]

    def choices(self, installation: int | None) -> dict[str, list[str]]:
        """What there is to filter by: repositories, outcomes, symptoms."""
        rows = self._rows(
            "SELECT array_agg(DISTINCT repo_name) AS repo, array_agg(DISTINCT outcome) AS outcome,"
            " array_agg(DISTINCT triage -> 'symptom' -> 'answer' ->> 0) AS symptom FROM triages"
            " WHERE %(installation)s::bigint IS NULL OR installation_id = %(installation)s",
            {"installation": installation},
        )
        return {name: sorted(filter(None, values or [])) for name, values in rows[0].items()}
