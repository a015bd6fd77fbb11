"""What people answered: corrections, results of diagnostics, commands, dismissals and their noise."""

from __future__ import annotations

from datetime import datetime

from bot.db.clean import clean_json, clean_text
from bot.github.records import Correction, Dismissal, IssueRef, Noise, PastedResult
from bot.github.store.columns import Table, issue_of, issue_values


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
