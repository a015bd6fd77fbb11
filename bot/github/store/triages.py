"""Triages, the bot's comments, the labels people and it set, what it asked for, what resolved an issue."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from bot.db.connect import Row, Table, clean_json, clean_text
from bot.github.records import CommentNote, IssueRef, LabelFact, RepoRef, Request, Resolution, TriageRecord
from knowledge.triage import Triage


def issue_of(row: Row) -> IssueRef:
    """The issue of a row with the columns installation_id, repo_id, repo_name, number."""
    return IssueRef(row["installation_id"], RepoRef(row["repo_id"], row["repo_name"]), row["number"])


def issue_values(issue: IssueRef) -> Row:
    """Those columns of an issue."""
    return {
        "installation_id": issue.installation_id,
        "repo_id": issue.repo.id,
        "repo_name": issue.repo.full_name,
        "number": issue.number,
    }


class TriageTables(Table):
    """The part of `bot.github.ports.Store` that is about what the bot found and wrote."""

    def save_triage(self, record: TriageRecord) -> None:
        """See the protocol."""
        self._put(
            "triages",
            {
                **issue_values(record.issue),
                "input_hash": record.input_hash,
                "title": clean_text(record.title),
                "triage": clean_json(record.triage.model_dump(mode="json")),
                "mode": record.mode,
                "outcome": record.outcome,
                "reason": record.reason,
                "would_post": clean_text(record.would_post),
                "would_label": [clean_text(label) for label in record.would_label],
                "at": record.at,
                "detail": list(record.detail),
            },
        )

    def last_triage(self, issue: IssueRef) -> TriageRecord | None:
        """See the protocol."""
        row = self._row(
            "SELECT * FROM triages WHERE repo_id = %s AND number = %s ORDER BY at DESC, id DESC LIMIT 1",
            (issue.repo.id, issue.number),
        )
        return triage_of(row) if row else None

    def triage_count(self, issue: IssueRef) -> int:
        """See the protocol."""
        query = "SELECT count(*) AS found FROM triages WHERE repo_id = %s AND number = %s"
        row = self._row(query, (issue.repo.id, issue.number))
        assert row is not None
        return int(row["found"])

    def comment_note(self, issue: IssueRef) -> CommentNote | None:
        """See the protocol."""
        row = self._row(
            "SELECT * FROM comment_notes WHERE repo_id = %s AND number = %s", (issue.repo.id, issue.number)
        )
        return _note_of(row) if row else None

    def save_comment_note(self, issue: IssueRef, note: CommentNote) -> None:
        """See the protocol."""
        self._put(
            "comment_notes",
            {
                **issue_values(issue),
                "comment_id": note.comment_id,
                "intended_at": note.intended_at,
                "state": note.state,
                "explained": note.explained,
                "first_noted": note.intended_at or datetime.now(UTC),
            },
            key=("repo_id", "number"),
            keep=("first_noted",),
        )

    def recent_comments(self, repo_id: int, since: datetime) -> list[tuple[IssueRef, CommentNote]]:
        """See the protocol."""
        rows = self._rows(
            "SELECT * FROM comment_notes WHERE repo_id = %s AND first_noted >= %s AND state = 'live'"
            " AND comment_id IS NOT NULL ORDER BY first_noted",
            (repo_id, since),
        )
        return [(issue_of(row), _note_of(row)) for row in rows]

    def save_label_fact(self, fact: LabelFact) -> None:
        """See the protocol."""
        self._put(
            "label_facts",
            {
                **issue_values(fact.issue),
                "label": clean_text(fact.label),
                "added": fact.added,
                "by_login": clean_text(fact.by),
                "by_us": fact.by_us,
                "at": fact.at,
            },
        )

    def label_facts(self, issue: IssueRef) -> list[LabelFact]:
        """See the protocol."""
        rows = self._rows(
            "SELECT * FROM label_facts WHERE repo_id = %s AND number = %s ORDER BY at, id",
            (issue.repo.id, issue.number),
        )
        return [
            LabelFact(issue_of(r), r["label"], r["added"], r["by_login"], r["by_us"], r["at"]) for r in rows
        ]


def triage_of(row: Row) -> TriageRecord:
    """The record of a whole row of the table triages."""
    return TriageRecord(
        issue=issue_of(row),
        input_hash=row["input_hash"],
        triage=Triage.model_validate(row["triage"]),
        mode=row["mode"],
        outcome=row["outcome"],
        reason=row["reason"],
        would_post=row["would_post"],
        would_label=tuple(row["would_label"]),
        at=row["at"],
        title=row["title"],
        detail=tuple(row["detail"]),
    )


def _note_of(row: Row) -> CommentNote:
    return CommentNote(row["comment_id"], row["intended_at"], row["state"], row["explained"])


# What the bot asked for and whether it came, and what resolved an issue in the end.

_OF_ISSUES = "(repo_id, number) IN (SELECT * FROM unnest(%(repos)s::bigint[], %(numbers)s::integer[]))"


class OutcomeTables(Table):
    """The part of `bot.github.ports.Store` that is about how an issue goes on."""

    def save_request(self, issue: IssueRef, request: Request) -> None:
        """See the protocol."""
        self._put(
            "requests",
            {
                **issue_values(issue),
                "item": clean_text(request.item),
                "ask": clean_text(request.ask),
                "input_hash": request.input_hash,
                "asked_at": request.asked_at,
                "state": request.state,
                "ended_at": request.ended_at,
            },
            key=("repo_id", "number", "item"),
        )

    def requests(self, issue: IssueRef) -> list[Request]:
        """See the protocol."""
        return self.requests_of([issue]).get(issue.key, [])

    def requests_of(self, issues: Sequence[IssueRef]) -> dict[tuple[int, int], list[Request]]:
        """By `IssueRef.key` what was asked for in the issues, oldest first; those without are left out."""
        found: dict[tuple[int, int], list[Request]] = {}
        for r in self._rows(
            f"SELECT * FROM requests WHERE {_OF_ISSUES} ORDER BY asked_at, item", _values(issues)
        ):
            request = Request(r["item"], r["ask"], r["input_hash"], r["asked_at"], r["state"], r["ended_at"])
            found.setdefault((r["repo_id"], r["number"]), []).append(request)
        return found

    def save_resolution(self, issue: IssueRef, resolution: Resolution) -> None:
        """See the protocol."""
        self._put(
            "resolutions",
            {
                **issue_values(issue),
                "closed_at": resolution.closed_at,
                "reason": clean_text(resolution.reason),
                "by_login": clean_text(resolution.by),
                "commit": clean_text(resolution.commit),
                "pull_request": clean_text(resolution.pull_request),
                "said": clean_text(resolution.said),
                "said_by": clean_text(resolution.said_by),
                "role": resolution.role,
            },
            key=("repo_id", "number"),
        )

    def resolution(self, issue: IssueRef) -> Resolution | None:
        """See the protocol."""
        return self.resolutions_of([issue]).get(issue.key)

    def resolutions_of(self, issues: Sequence[IssueRef]) -> dict[tuple[int, int], Resolution]:
        """By `IssueRef.key` what resolved the issues; those without are left out."""
        rows = self._rows(
            "SELECT repo_id, number, closed_at, reason, by_login AS by, commit, pull_request, said, said_by, role"
            f" FROM resolutions WHERE {_OF_ISSUES}",
            _values(issues),
        )
        return {(row.pop("repo_id"), row.pop("number")): Resolution(**row) for row in rows}

    def forget(self, days: int) -> int:
        """Delete what is older than that and holds words of a report; how many rows.

        Corrections are labelled cases and stay.
        """
        aged = (
            ("triages", "at"),
            ("requests", "coalesce(ended_at, asked_at)"),
            ("resolutions", "closed_at"),
            ("diagnostics_results", "at"),
        )
        return sum(
            self._run(f"DELETE FROM {table} WHERE {at} < now() - make_interval(days => %s)", (days,))
            for table, at in aged
        )

    def forget_resolution(self, issue: IssueRef) -> None:
        """See the protocol."""
        self._run("DELETE FROM resolutions WHERE repo_id = %s AND number = %s", (issue.repo.id, issue.number))


def _values(issues: Sequence[IssueRef]) -> Row:
    return {"repos": [issue.repo.id for issue in issues], "numbers": [issue.number for issue in issues]}
