"""What the store keeps (plain values, none of which holds unredacted text), and GitHub's errors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from knowledge.corrections import merged
from knowledge.errors import DistriageError
from knowledge.triage import AxisName, Triage

# What can go wrong with GitHub, as far as it changes what is done next.
#
# DistriageError
# └── GitHubError          a call failed; carries the HTTP status
#     ├── Gone             404/410: issue, comment or repository deleted, transferred or out of reach
#     ├── TooLarge         an answer longer than any that is read
#     ├── NotAllowed       403 for good: `why` = suspended | locked | archived | forbidden
#     └── TryAgain         not now; `after` = seconds to wait
#         ├── (itself)     rate limit, write budget, a text that keeps changing
#         └── Outage       5xx, timeout, dropped connection: each next wait is longer

Forbidden = Literal["suspended", "locked", "archived", "forbidden"]


class GitHubError(DistriageError):
    """A call to GitHub that failed; `status` is the HTTP status, 0 when no answer came."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Gone(GitHubError):
    """What was asked for is not there (any more)."""


class NotAllowed(GitHubError):
    """GitHub refuses and will go on refusing until a person changes something."""

    def __init__(self, message: str, why: Forbidden, status: int = 403) -> None:
        super().__init__(message, status)
        self.why: Forbidden = why


class TooLarge(GitHubError):
    """An answer of which only the beginning was read, so that it is of no use."""


class TryAgain(GitHubError):
    """Not now: run the same delivery again in `after` seconds. Raised out of `handler.process`."""

    def __init__(self, message: str, after: float, status: int = 0) -> None:
        super().__init__(message, status)
        self.after = after


class Outage(TryAgain):
    """GitHub failed or did not answer; what was asked for may have happened."""


@dataclass(frozen=True, slots=True)
class RepoRef:
    """A repository: `id` stays through renames, `full_name` is "owner/name" as last seen."""

    id: int
    full_name: str


@dataclass(frozen=True, slots=True)
class IssueRef:
    """An issue within an installation; its identity is (repo.id, number)."""

    installation_id: int
    repo: RepoRef
    number: int

    @property
    def key(self) -> tuple[int, int]:
        """Its identity."""
        return self.repo.id, self.number

    @property
    def name(self) -> str:
        """ "owner/name#12", the id of its report."""
        return f"{self.repo.full_name}#{self.number}"


@dataclass(frozen=True, slots=True)
class TriageRecord:
    """A triage and what came of it; `would_post` is the gated comment, "" when nothing would be said."""

    issue: IssueRef
    input_hash: str
    triage: Triage
    mode: str
    outcome: str
    reason: str
    would_post: str
    would_label: tuple[str, ...]
    at: datetime
    title: str = ""
    """Redacted, for the maintainers' page."""
    detail: tuple[str, ...] = ()
    """Rules of the gate that its comment broke, which is why there is none."""


_BY_MAINTAINERS = frozenset({"dismissed", "deleted"})
"""States of the comment that only a maintainer can have brought about, and only one can undo."""


@dataclass(frozen=True, slots=True)
class CommentNote:
    """What is known of the bot's comment on an issue.

    `intended_at` is set before the first write and cleared once its id is known: a note with a time and no id
    tells the next run that a comment may exist. `state`: deleted = a person removed it; dismissed = folded by a
    maintainer; dismissed_by_author = folded by the issue's author, who has no further rights.
    """

    comment_id: int | None
    intended_at: datetime | None
    state: Literal["live", "dismissed", "dismissed_by_author", "deleted"] = "live"
    explained: bool = False

    def folded(self, by_maintainer: bool) -> CommentNote:
        """After somebody dismissed the comment."""
        if by_maintainer:
            return replace(self, state="dismissed")
        return replace(self, state="dismissed_by_author") if self.state == "live" else self

    def called_back(self, explain: bool, by_maintainer: bool) -> CommentNote | None:
        """After somebody asked for the comment again; None when only a maintainer may undo what one did."""
        if self.state in _BY_MAINTAINERS and not by_maintainer:
            return None
        return replace(self, state="live", explained=self.explained or explain)


@dataclass(frozen=True, slots=True)
class Request:
    """Something that the comment asked for, and how that ended.

    arrived: the text changed and now holds it; dropped: it is no longer asked for although the text is the same
    (a correction, a dismissal).
    """

    item: str
    """The id of a `MissingItem`."""
    ask: str
    """The sentence that asks."""
    input_hash: str
    """Of the text that lacked it."""
    asked_at: datetime
    state: Literal["open", "arrived", "dropped"] = "open"
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """What resolved a closed issue: the commit or pull request that closed it, and what people said it was."""

    closed_at: datetime
    reason: str
    """GitHub's: completed, not_planned, duplicate, or "" on old issues."""
    by: str
    """Who closed it."""
    commit: str = ""
    pull_request: str = ""
    """ "owner/name#12"."""
    said: str = ""
    """The comment that says so, redacted and cut to `resolution.MOST_CHARS`."""
    said_by: str = ""
    role: str = ""
    """Of who said it: author or maintainer."""


@dataclass(frozen=True, slots=True)
class LabelFact:
    """A label was set (`added`) or removed by `by`; `by_us` when that was this bot."""

    issue: IssueRef
    label: str
    added: bool
    by: str
    by_us: bool
    at: datetime


@dataclass(frozen=True, slots=True)
class Correction:
    """A case labelled by a person: the report (redacted), the labels given, who and when."""

    issue: IssueRef
    comment_id: int
    by: str
    at: datetime
    labels: dict[AxisName, tuple[str, ...]]
    title: str
    body: str


@dataclass(frozen=True, slots=True)
class DraftDecision:
    """What a maintainer decided about the answer that an LLM drafted for a text of an issue."""

    issue: IssueRef
    input_hash: str
    """Of the text that the draft answers; a changed text gets a draft of its own."""
    decision: Literal["post", "reject"]
    sentences: tuple[str, ...]
    """The answer as the maintainer left it; empty = rejected."""
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Dismissal:
    """Somebody found the bot's comment useless."""

    issue: IssueRef
    by: str
    how: Literal["command", "reaction", "deleted"]
    at: datetime
    by_maintainer: bool = False
    """Of one who is not, all dismissals in a repository count as one."""


@dataclass(frozen=True, slots=True)
class PastedResult:
    """The result blocks (redacted) of one comment, and whether it was a maintainer's."""

    comment_id: int
    by: str
    by_maintainer: bool
    text: str


@dataclass(frozen=True, slots=True)
class Noise:
    """Of `posted` comments `dismissed` were found useless, all those of one person without rights counted as one."""

    posted: int
    dismissed: int


@dataclass(frozen=True, slots=True)
class ConfigCache:
    """A repository's configuration: the last good text (None: never any), the ETag of what was last read."""

    etag: str | None
    good_text: str | None
    error: str | None = None
    """Why the file last read is not used; None when it is."""
    noted_error: str | None = None
    """The error the maintainers were last told of."""


@dataclass(frozen=True, slots=True)
class InstallationNote:
    """An installation of the App and whether it may be used."""

    id: int
    account: str
    state: Literal["active", "suspended", "deleted"]


def merge(corrections: Iterable[Correction]) -> dict[AxisName, tuple[str, ...]]:
    """What people set in the end, corrections oldest first."""
    return merged([correction.labels for correction in corrections])
