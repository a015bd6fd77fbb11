"""What people answered: corrections, results of diagnostics, commands, dismissals and their noise."""

from __future__ import annotations

from datetime import datetime

from bot.db.clean import clean_json, clean_text
from bot.db.issue_columns import Table, issue_of, issue_values
from bot.github.records import Correction, Dismissal, IssueRef, Noise


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

    def save_result(self, issue: IssueRef, comment_id: int, by: str, text: str, at: datetime) -> None:
        """See the protocol."""
        self._put(
            "diagnostics_results",
            {
                "comment_id": comment_id,
                "repo_id": issue.repo.id,
                "number": issue.number,
                "by_login": clean_text(by),
                "text": clean_text(text),
                "at": at,
            },
            key=("comment_id",),
        )

    def results(self, issue: IssueRef) -> list[str]:
        """See the protocol."""
        rows = self._rows(
            "SELECT text FROM diagnostics_results WHERE repo_id = %s AND number = %s ORDER BY at, comment_id",
            (issue.repo.id, issue.number),
        )
        return [row["text"] for row in rows]

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
            "how": dismissal.how,
            "at": dismissal.at,
        }
        self._put("dismissals", row, key=("repo_id", "number"), keep=("by_login", "how", "at"))

    def noise(self, repo_id: int, last: int) -> Noise:
        """See the protocol."""
        row = self._row(
            "SELECT count(*) AS posted, count(dismissals.number) AS dismissed FROM ("
            "  SELECT repo_id, number FROM comment_notes WHERE repo_id = %(repo)s AND comment_id IS NOT NULL"
            "  AND first_noted >= coalesce("
            "    (SELECT at FROM repo_switches WHERE repo_id = %(repo)s AND is_on), '-infinity')"
            "  ORDER BY first_noted DESC LIMIT %(last)s"
            ") AS posted LEFT JOIN dismissals USING (repo_id, number)",
            {"repo": repo_id, "last": last},
        )
        assert row is not None
        return Noise(row["posted"], row["dismissed"])
