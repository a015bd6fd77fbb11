"""What is kept of a repository's issues, and the hole behind which it is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from knowledge.errors import DistriageError
from knowledge.history.record import Post, Record
from knowledge.report import Report

Why = Literal[
    "", "no_answer", "inactive", "not_reproduced", "intended", "wont_fix", "unsupported", "elsewhere"
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an issue stands, or how it ended."""

    is_open: bool
    state: str = ""
    """As the tracker says it: "open", "closed", "Resolved"."""
    reason: str = ""
    """ "completed", "not_planned", "duplicate" on GitHub; another tracker's resolution as it says it."""
    closed_at: datetime | None = None
    closed_by: str = ""
    """What closed it: "#1301" (a pull request), a commit's first ten digits, or another repository's "owner/name#5"."""
    fix_commit: str = ""
    """Full SHA of the commit that fixed it, where that lies in the same repository."""
    fixed_at: datetime | None = None
    released: str = ""
    """Tag of the first release that holds that commit; "" = none yet, or not looked up."""
    others: int = 0
    """People besides the author and the project's own who wrote below it."""
    duplicates: tuple[str, ...] = ()
    """Ids of the issues that people marked as the same."""
    why: Why = ""
    """Why it was closed as not planned, where that is plain."""


@dataclass(frozen=True, slots=True)
class LabelChange:
    """A label was set or removed; labels of bots teach nothing, so who did it is kept."""

    label: str
    added: bool
    by: str
    by_person: bool
    at: datetime


@dataclass(frozen=True, slots=True)
class PastIssue:
    """An issue as its tracker gives it. The post's texts are read and, unless the operator wants it, not kept."""

    post: Post
    outcome: Outcome
    url: str = ""
    labels: tuple[LabelChange, ...] = ()
    author: str = ""
    """ "" = no person, or not known."""
    answered_at: datetime | None = None
    """When somebody of the project first wrote below it."""

    @property
    def content_hash(self) -> str:
        """Of title and body: an issue whose text is the same is not read again."""
        return content_hash(self.post)


@dataclass(frozen=True, slots=True)
class KeptIssue:
    """An issue as it is kept. `record` is None to leave the evidence as it is and change the outcome alone."""

    id: str
    title: str
    """Redacted."""
    url: str
    content_hash: str
    opened: datetime | None
    outcome: Outcome
    record: Record | None
    labels: tuple[LabelChange, ...] | None = None
    """None leaves those that are kept."""
    text: str | None = None
    """The redacted body, where the operator keeps texts; it comes and goes with `record`. Never read back here."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a back-fill got; the empty value is one that never began."""

    source: str = ""
    """What is read: "github", or the fingerprint of an export."""
    cursor: str = ""
    """Where to go on; "" = from the start."""
    read: int = 0
    """Issues read so far by the run that is under way or was the last."""
    total: int = 0
    since: str = ""
    most: int = 0
    """--max of the run under way; 0 = all."""
    began: str = ""
    """When the run under way began (ISO 8601)."""
    through: str = ""
    """Changes before this time are all here (ISO 8601); "" = no run got through yet."""
    at: str = ""
    """When the last page was kept (ISO 8601)."""


@dataclass(frozen=True, slots=True)
class RepoHistory:
    """A repository whose history is kept."""

    key: int
    full_name: str
    repo_id: int | None
    encoder: str
    """Hash of the model that made its vectors."""
    progress: Progress
    threshold: float | None = None
    """P(same failure) from which on a match is shown, where one was fitted to its own marks."""
    heads: int = 0
    """How often heads of its labels were learned."""
    installation_id: int | None = None


@dataclass(frozen=True, slots=True)
class Marked:
    """How often people said in a repository what is the same failure: now, and when its threshold fitted itself."""

    repo: RepoHistory
    marks: int
    fitted: int


class Forgotten(DistriageError):
    """The repository's history was deleted meanwhile (the App was removed)."""


class HistoryStore(Protocol):
    """Where histories are kept; every call is its own transaction."""

    def begin(
        self, full_name: str, encoder: str, repo_id: int | None, installation_id: int | None
    ) -> RepoHistory:
        """The repository's history, begun if there is none; a known id or installation is added to it."""

    def begin_again(
        self, full_name: str, encoder: str, repo_id: int | None, installation_id: int | None
    ) -> RepoHistory:
        """The same, empty: what was read before is gone; people's votes and a threshold set by hand stay."""

    def find(self, full_name: str, repo_id: int | None = None) -> RepoHistory | None:
        """By the id that stays through renames, else by name."""

    def save_page(self, key: int, page: Sequence[KeptIssue], progress: Progress | None = None) -> None:
        """Keep the issues and how far the back-fill got, both or nothing. Raises `Forgotten`."""

    def hashes(self, key: int, ids: Sequence[str]) -> dict[str, str]:
        """Content hashes of those that are kept."""

    def newer(self, key: int, version: int) -> Iterator[tuple[int, Record]]:
        """Records whose evidence changed after that version, oldest change first, with the version of each."""

    def records(self, key: int, ids: Sequence[str]) -> dict[str, Record]:
        """The evidence of those of the ids that are kept."""

    def issues(self, key: int, ids: Sequence[str]) -> dict[str, KeptIssue]:
        """Those of the ids that are kept."""

    def texts(self, key: int, ids: Sequence[str]) -> dict[str, Report]:
        """Title and body, redacted, of those of the ids whose text is kept."""

    def forget_texts(self) -> int:
        """Delete every text, and the replays that quote one; how many texts there were."""

    def marks(self, key: int) -> dict[str, tuple[str, ...]]:
        """The issues of which people said what they are the same as, and these."""

    def count(self, key: int) -> int:
        """Number of issues."""

    def unreleased(self, key: int) -> list[tuple[str, datetime]]:
        """Commits of fixes that no release is known to hold, and when they were made, oldest first."""

    def save_released(self, key: int, tags: Mapping[str, str]) -> None:
        """Keep the first release of each commit."""

    def save_threshold(self, key: int, threshold: float | None) -> None:
        """Keep the threshold that somebody had fitted; None: the shipped one counts, or one that fits itself."""

    def save_fitted(self, key: int, threshold: float | None) -> None:
        """Keep what a threshold that fits itself came to; one that somebody had fitted stays."""

    def marked(self) -> list[Marked]:
        """How often people said, in each repository that the App covers, what is the same failure."""

    def note_marks(self, key: int) -> None:
        """Keep how often that is now: the threshold is about to fit itself."""

    def siblings(self, repo: RepoHistory, most: int) -> list[RepoHistory]:
        """Other repositories of its owner in the same installation that have a history; at most so many."""

    def drop(self, key: int, id: str) -> None:
        """Forget one issue, and what a replay would have written below it."""

    def forget(
        self, repo_ids: Iterable[int] = (), names: Iterable[str] = (), installation_id: int | None = None
    ) -> int:
        """Delete everything of these repositories and of all those of the installation; how many there were.

        Where ids are given, a name is that of a history without one: another repository may have had it before.
        """


def content_hash(post: Post) -> str:
    """SHA-256 of title and body."""
    return hashlib.sha256(f"{post.title}\0{post.body}".encode("utf-8", "replace")).hexdigest()
