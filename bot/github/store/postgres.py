"""The GitHub App's store on PostgreSQL, and what people corrected as labelled cases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bot.db.connect import Row, SyncPool, Table, clean_json, clean_text
from bot.github.records import (
    ConfigCache,
    Correction,
    Dismissal,
    DraftDecision,
    InstallationNote,
    IssueRef,
    Noise,
    PastedResult,
    RepoRef,
)
from bot.github.store.triages import OutcomeTables, TriageTables, issue_of, issue_values
from knowledge.triage import CaseLabels


class RepoTables(Table):
    """The part of `bot.github.ports.Store` that is about repositories."""

    def config(self, repo_id: int) -> ConfigCache | None:
        """See the protocol."""
        row = self._row("SELECT * FROM repo_configs WHERE repo_id = %s", (repo_id,))
        return ConfigCache(row["etag"], row["good_text"], row["error"], row["noted_error"]) if row else None

    def save_config(self, repo_id: int, cache: ConfigCache) -> None:
        """See the protocol."""
        self._put(
            "repo_configs",
            {
                "repo_id": repo_id,
                "etag": cache.etag,
                "good_text": clean_text(cache.good_text) if cache.good_text is not None else None,
                "error": clean_text(cache.error) if cache.error is not None else None,
                "noted_error": clean_text(cache.noted_error) if cache.noted_error is not None else None,
            },
            key=("repo_id",),
        )

    def claim_config_note(self, repo_id: int, error: str | None) -> bool:
        """See the protocol."""
        text = clean_text(error) if error is not None else None
        query = (
            "UPDATE repo_configs SET noted_error = %(error)s WHERE repo_id = %(repo)s"
            " AND noted_error IS DISTINCT FROM %(error)s::text"
        )
        return self._run(query, {"repo": repo_id, "error": text}) > 0

    def repo_on(self, repo_id: int) -> bool:
        """See the protocol."""
        row = self._row("SELECT is_on FROM repo_switches WHERE repo_id = %s", (repo_id,))
        return bool(row["is_on"]) if row else True

    def set_repo_on(self, repo_id: int, on: bool, by: str, at: datetime) -> None:
        """See the protocol."""
        self._put(
            "repo_switches",
            {"repo_id": repo_id, "is_on": on, "by_login": clean_text(by), "at": at},
            key=("repo_id",),
        )

    def save_installation(self, note: InstallationNote) -> None:
        """See the protocol."""
        row = {"id": note.id, "account": clean_text(note.account), "state": note.state}
        self._put("installations", row, key=("id",))

    def save_repos(self, installation_id: int, added: list[RepoRef], removed: list[RepoRef]) -> None:
        """See the protocol."""
        with self._pool.connection() as connection, connection.transaction(), connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO installation_repos (installation_id, repo_id, full_name) VALUES (%s, %s, %s)"
                " ON CONFLICT (installation_id, repo_id) DO UPDATE SET full_name = excluded.full_name",
                [(installation_id, repo.id, clean_text(repo.full_name)) for repo in added],
            )
            cursor.executemany(
                "DELETE FROM installation_repos WHERE installation_id = %s AND repo_id = %s",
                [(installation_id, repo.id) for repo in removed],
            )


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


class FeedbackTables(Table):
    """The part of `bot.github.ports.Store` that is about people's answers."""

    def save_correction(self, correction: Correction) -> None:
        """See the protocol."""
        self._put(
            "corrections",
            {
                **issue_values(correction.issue),
                "comment_id": correction.comment_id,
                "by_login": clean_text(correction.by),
                "at": correction.at,
                "labels": clean_json(correction.labels),
                "title": clean_text(correction.title),
                "body": clean_text(correction.body),
            },
            key=("comment_id",),
        )

    def forget_correction(self, comment_id: int) -> None:
        """Drop a correction that its author took back on the maintainers' page."""
        self._run("DELETE FROM corrections WHERE comment_id = %s", (comment_id,))

    def corrections(self, issue: IssueRef) -> list[Correction]:
        """See the protocol."""
        rows = self._rows(
            "SELECT * FROM corrections WHERE repo_id = %s AND number = %s ORDER BY at, comment_id",
            (issue.repo.id, issue.number),
        )
        return [
            Correction(
                issue_of(row),
                row["comment_id"],
                row["by_login"],
                row["at"],
                {axis: tuple(ids) for axis, ids in row["labels"].items()},
                row["title"],
                row["body"],
            )
            for row in rows
        ]

    def save_draft_decision(self, decision: DraftDecision) -> None:
        """See the protocol."""
        self._put(
            "draft_decisions",
            {
                **issue_values(decision.issue),
                "input_hash": decision.input_hash,
                "decision": decision.decision,
                "sentences": [clean_text(one) for one in decision.sentences],
                "by_login": clean_text(decision.by),
                "at": decision.at,
            },
            key=("repo_id", "number", "input_hash"),
        )

    def draft_decision(self, issue: IssueRef, input_hash: str) -> DraftDecision | None:
        """See the protocol."""
        row = self._row(
            "SELECT * FROM draft_decisions WHERE repo_id = %s AND number = %s AND input_hash = %s",
            (issue.repo.id, issue.number, input_hash),
        )
        if row is None:
            return None
        sentences = tuple(row["sentences"])
        return DraftDecision(
            issue_of(row), row["input_hash"], row["decision"], sentences, row["by_login"], row["at"]
        )

    def save_result(self, issue: IssueRef, result: PastedResult, at: datetime) -> None:
        """See the protocol."""
        self._put(
            "diagnostics_results",
            {
                "comment_id": result.comment_id,
                "repo_id": issue.repo.id,
                "number": issue.number,
                "by_login": clean_text(result.by),
                "by_maintainer": result.by_maintainer,
                "text": clean_text(result.text),
                "at": at,
            },
            key=("comment_id",),
        )

    def results(self, issue: IssueRef, newest: int) -> list[PastedResult]:
        """See the protocol."""
        rows = self._rows(
            "SELECT * FROM diagnostics_results WHERE repo_id = %s AND number = %s"
            " ORDER BY at DESC, comment_id DESC LIMIT %s",
            (issue.repo.id, issue.number, newest),
        )
        return [
            PastedResult(row["comment_id"], row["by_login"], row["by_maintainer"], row["text"])
            for row in rows
        ]

    def forget_result(self, comment_id: int) -> None:
        """See the protocol."""
        self._run("DELETE FROM diagnostics_results WHERE comment_id = %s", (comment_id,))

    def command_done(self, comment_id: int, digest: str) -> bool:
        """See the protocol."""
        query = "SELECT 1 AS found FROM commands_done WHERE comment_id = %s AND digest = %s"
        return self._row(query, (comment_id, digest)) is not None

    def mark_command(self, comment_id: int, digest: str) -> None:
        """See the protocol."""
        self._put("commands_done", {"comment_id": comment_id, "digest": digest}, key=("comment_id", "digest"))

    def save_dismissal(self, dismissal: Dismissal) -> None:
        """See the protocol."""
        row = {
            "repo_id": dismissal.issue.repo.id,
            "number": dismissal.issue.number,
            "by_login": clean_text(dismissal.by),
            "by_maintainer": dismissal.by_maintainer,
            "how": dismissal.how,
            "at": dismissal.at,
        }
        first = ("by_login", "by_maintainer", "how", "at")
        self._put("dismissals", row, key=("repo_id", "number"), keep=first)

    def noise(self, repo_id: int, last: int) -> Noise:
        """See the protocol."""
        row = self._row(
            "SELECT count(*) AS posted, count(*) FILTER (WHERE by_maintainer)"
            "  + count(DISTINCT by_login) FILTER (WHERE NOT by_maintainer) AS dismissed FROM ("
            "  SELECT repo_id, number FROM comment_notes WHERE repo_id = %(repo)s AND comment_id IS NOT NULL"
            "  AND first_noted >= coalesce("
            "    (SELECT at FROM repo_switches WHERE repo_id = %(repo)s AND is_on), '-infinity')"
            "  ORDER BY first_noted DESC LIMIT %(last)s"
            ") AS posted LEFT JOIN dismissals USING (repo_id, number)",
            {"repo": repo_id, "last": last},
        )
        assert row is not None
        return Noise(row["posted"], row["dismissed"])


class PostgresStore(TriageTables, OutcomeTables, FeedbackTables, RepoTables, WriteBudget):
    """`bot.github.ports.Store` over a pool; safe to call from several threads and processes."""


# What people corrected, on GitHub, on the maintainers' page and in Slack, as labelled cases.

_SLACK = """
SELECT triage_id, array_agg(by_user ORDER BY at) AS by, max(at) AS at,
  array_agg(labels ORDER BY at) AS labels, '' AS title, (array_agg(body ORDER BY at DESC))[1] AS body
FROM slack_corrections WHERE labels <> '{}' GROUP BY triage_id
"""
_GITHUB = """
SELECT repo_id, number, (array_agg(repo_name ORDER BY at DESC))[1] AS repo_name,
  array_agg(by_login ORDER BY at) AS by, max(at) AS at, array_agg(labels ORDER BY at) AS labels,
  (array_agg(title ORDER BY at DESC))[1] AS title, (array_agg(body ORDER BY comment_id > 0 DESC, at DESC))[1] AS body,
  (SELECT concat_ws(' ', nullif(said, ''), nullif(pull_request, ''), nullif(commit, '')) FROM resolutions AS r
    WHERE r.repo_id = corrections.repo_id AND r.number = corrections.number) AS resolution
FROM corrections GROUP BY repo_id, number
"""


@dataclass(frozen=True, slots=True)
class GivenLabels:
    """A report with the labels that people gave it, the last word on each axis counting; texts are redacted."""

    name: str
    """ "owner/name#12", or "slack:" and the triage's id."""
    url: str
    """"" for Slack."""
    by: tuple[str, ...]
    at: datetime
    """When the last of them was given."""
    labels: dict[str, list[str]]
    title: str
    body: str
    resolution: str = ""
    """What resolved the issue, as its closing said."""

    def as_record(self) -> dict[str, Any]:
        """The record of a case, as files of the corpus have it (knowledge/cases/corpus.py).

        Who names a symptom, stage, cause or fix says that it is a fault. A symptom lies in its stage.
        """
        stages = [symptom.partition(".")[0] for symptom in self.labels.get("symptom", [])]
        labels = CaseLabels(
            type=(self.labels.get("type") or ["fault"])[0],
            stage=self.labels.get("stage") or list(dict.fromkeys(stages)),
            symptom=self.labels.get("symptom", []),
            cause=self.labels.get("cause", []),
            fix=self.labels.get("fix", []),
        )
        return {
            "id": self.name,
            "url": self.url,
            "title": self.title,
            "body": self.body,
            "labels": labels.model_dump(exclude_defaults=True) | {"type": labels.type},
            **({"resolution": self.resolution} if self.resolution else {}),
            "label_source": f"corrected by {', '.join(self.by)} ({self.at:%Y-%m-%d})",
        }


class GivenTables(Table):
    """Reads all corrections; `github` is where people read issues."""

    def __init__(self, pool: SyncPool, github: str = "https://github.com") -> None:
        super().__init__(pool)
        self._github = github

    def slack(self, limit: int | None = None) -> list[GivenLabels]:
        """Those given in Slack, newest first."""
        return [_of_slack(row) for row in self._rows(f"{_SLACK} ORDER BY at DESC LIMIT %s", (limit,))]

    def every(self) -> list[GivenLabels]:
        """All of them, oldest first."""
        github = [_of_github(row, self._github) for row in self._rows(_GITHUB, ())]
        return sorted([*github, *self.slack()], key=lambda given: (given.at, given.name))


def _of_slack(row: Row) -> GivenLabels:
    return _given(row, f"slack:{row['triage_id']}", "")


def _of_github(row: Row, github: str) -> GivenLabels:
    name = f"{row['repo_name']}#{row['number']}"
    return _given(row, name, f"{github}/{row['repo_name']}/issues/{row['number']}")


def _given(row: Row, name: str, url: str) -> GivenLabels:
    labels: dict[str, list[str]] = {}
    for given in row["labels"]:
        labels |= given
    return GivenLabels(
        name,
        url,
        tuple(dict.fromkeys(row["by"])),
        row["at"],
        labels,
        row["title"],
        row["body"],
        row.get("resolution") or "",
    )
