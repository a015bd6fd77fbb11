"""GitHub as one payload shows it: for a service without App credentials, and for `bot simulate`."""

from __future__ import annotations

from datetime import datetime

from bot.gate.rules import PassedLabel, PassedMarkdown
from bot.github.errors import Gone, NotAllowed
from bot.github.ports import Closing, Comment, File, GitHub, Issue, LabelEvent, Permission, Reaction
from bot.github.records import IssueRef, RepoRef


class OfflineGitHub(GitHub):
    """One issue, no comments, every label there; the configuration is `config`, absent when None.

    Writes are kept in `written` when `record` is true, else refused.
    """

    def __init__(self, issue: Issue, config: str | None = None, record: bool = False) -> None:
        self._issue = issue
        self._config = config
        self._record = record
        self.written: list[tuple[str, str]] = []

    @property
    def login(self) -> str:
        """A name that no account can have."""
        return "offline[bot]"

    def issue(self, ref: IssueRef) -> Issue:
        """The payload's issue."""
        return self._issue

    def comments(self, ref: IssueRef) -> list[Comment]:
        """None are known."""
        return []

    def comment(self, ref: IssueRef, comment_id: int) -> Comment:
        """None is known."""
        raise Gone("no App credentials: no comment can be read")

    def create_comment(self, ref: IssueRef, body: PassedMarkdown) -> Comment:
        """Kept, not sent."""
        self._keep("comment", body)
        return Comment(1, self.login, True, body)

    def edit_comment(self, ref: IssueRef, comment_id: int, body: PassedMarkdown) -> None:
        """Kept, not sent."""
        self._keep("comment", body)

    def add_labels(self, ref: IssueRef, labels: list[PassedLabel]) -> None:
        """Kept, not sent."""
        for label in labels:
            self._keep("label", label)

    def remove_label(self, ref: IssueRef, label: PassedLabel) -> None:
        """Kept, not sent."""
        self._keep("unlabel", label)

    def repo_labels(self, repo: RepoRef) -> frozenset[str]:
        """Unknown: only what the issue has."""
        return self._issue.labels

    def create_label(self, repo: RepoRef, label: PassedLabel) -> None:
        """Kept, not sent."""
        self._keep("create label", label)

    def label_events(self, ref: IssueRef) -> list[LabelEvent]:
        """None are known: every label counts as a person's."""
        return []

    def closing(self, ref: IssueRef, at: datetime) -> Closing:
        """Nothing is known of it."""
        return Closing()

    def gist(self, gist_id: str) -> list[tuple[str, str]]:
        """None can be read."""
        raise Gone("no App credentials: no gist can be read")

    def react(self, ref: IssueRef, comment_id: int, reaction: Reaction) -> None:
        """Kept, not sent."""
        self._keep("reaction", reaction)

    def reactions(self, ref: IssueRef, comment_id: int) -> list[tuple[str, str]]:
        """None are known."""
        return []

    def permission(self, repo: RepoRef, login: str) -> Permission:
        """Nobody may do anything."""
        return "none"

    def file(self, repo: RepoRef, path: str, etag: str | None) -> File:
        """The configuration given, whatever the path."""
        return File("absent") if self._config is None else File("found", self._config)

    def recent_issues(self, repo: RepoRef, since: datetime) -> list[Issue]:
        """None are known."""
        return []

    def repos(self) -> list[RepoRef]:
        """None are known."""
        return []

    def _keep(self, what: str, text: str) -> None:
        if not self._record:
            raise self._refuse()
        self.written.append((what, text))

    def _refuse(self) -> NotAllowed:
        return NotAllowed("no App credentials: nothing is read from or written to GitHub", "forbidden")
