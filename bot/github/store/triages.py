"""Triages, the bot's comments and the labels people and it set."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.db.connect import clean_json, clean_text
from bot.db.table import Row, Table
from bot.github.records import CommentNote, IssueRef, LabelFact, RepoRef, TriageRecord
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
                "written": note.written,
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
    return CommentNote(row["comment_id"], row["intended_at"], row["state"], row["explained"], row["written"])
