"""What the bot asked for and whether it came, and what resolved an issue in the end."""

from __future__ import annotations

from collections.abc import Sequence

from bot.db.connect import clean_text
from bot.db.table import Row, Table
from bot.github.records import IssueRef, Request, Resolution
from bot.github.store.triages import issue_values

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
