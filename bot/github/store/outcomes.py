"""What the bot asked for and whether it came, and what resolved an issue in the end."""

from __future__ import annotations

from bot.db.connect import clean_text
from bot.db.table import Table
from bot.github.records import IssueRef, Request, Resolution
from bot.github.store.triages import issue_values


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
        rows = self._rows(
            "SELECT * FROM requests WHERE repo_id = %s AND number = %s ORDER BY asked_at, item",
            (issue.repo.id, issue.number),
        )
        return [
            Request(r["item"], r["ask"], r["input_hash"], r["asked_at"], r["state"], r["ended_at"])
            for r in rows
        ]

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
        row = self._row(
            "SELECT closed_at, reason, by_login AS by, commit, pull_request, said, said_by, role FROM resolutions"
            " WHERE repo_id = %s AND number = %s",
            (issue.repo.id, issue.number),
        )
        return Resolution(**row) if row else None

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
