"""The holes in the GitHub App's logic: what it needs of GitHub, of the store, of the clock and of the core.

All calls are synchronous (PyGithub runs in the worker's threads). A GitHub call raises only the errors of
bot/github/records.py. Jobs of one issue never run side by side: whoever calls `handler.process` holds the
lock named `events.parse(...).lock`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from bot.gate.rules import PassedLabel, PassedMarkdown
from bot.github.records import (
    CommentNote,
    ConfigCache,
    Correction,
    Dismissal,
    DraftDecision,
    InstallationNote,
    IssueRef,
    LabelFact,
    Noise,
    PastedResult,
    RepoRef,
    Request,
    Resolution,
    TriageRecord,
)
from bot.history.labels import OwnLabels
from bot.history.records import PastIssue
from bot.history.search import Histories
from bot.history.wave_store import WaveTables
from bot.ports import Clock, Comparer, Core

Reaction = Literal["+1", "-1", "eyes", "confused", "rocket"]
Permission = Literal["admin", "write", "read", "none"]
MAY_WRITE: frozenset[Permission] = frozenset({"admin", "write"})
"""What makes a maintainer."""
MAINTAINERS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
"""The associations of a comment's author that make them one of the project's."""
OutcomeKind = Literal["written", "unchanged", "shadow", "silent", "ignored", "command", "noted"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook call. `payload` is what `payload.storable` left of it: no text that could hold a secret."""

    id: str
    event: str
    action: str | None
    payload: dict[str, Any]
    received_at: datetime


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a delivery ended for good; a delivery that has to run again raises `TryAgain` instead.

    written: comment or labels changed; unchanged: they fitted already; shadow: stored, nothing shown;
    silent: triaged or looked at, and rightly nothing said; ignored: nothing to do with us; command: carried
    out; noted: something people or GitHub did was written down. `reason` is a word for metrics
    ("locked", "below_threshold"), never text of a report.
    """

    kind: OutcomeKind
    reason: str
    issue: IssueRef | None = None
    comment_id: int | None = None
    labels_added: tuple[str, ...] = ()
    labels_removed: tuple[str, ...] = ()
    writes: int = 0
    detail: tuple[str, ...] = ()
    """Rules of the gate that a refused write broke, or why GitHub refused the labels; for the log."""
    late: bool = False
    """An LLM may still have an answer for this issue: worth another run."""


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue as GitHub has it now."""

    number: int
    title: str
    body: str
    author: str
    author_is_bot: bool
    labels: frozenset[str]
    open: bool
    locked: bool
    is_pull_request: bool
    created_at: datetime
    comments: int = 0
    closed_at: datetime | None = None
    state_reason: str = ""
    """Of a closed one: completed, not_planned, duplicate."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment below an issue; `association` is GitHub's (OWNER, MEMBER, COLLABORATOR, NONE, ...)."""

    id: int
    author: str
    author_is_bot: bool
    body: str
    association: str = "NONE"
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Closing:
    """How an issue was last closed: by whom, and by which commit or merged pull request ("owner/name#12")."""

    by: str = ""
    commit: str = ""
    pull_request: str = ""


@dataclass(frozen=True, slots=True)
class LabelEvent:
    """A label set on or taken off an issue, in GitHub's own record of it."""

    label: str
    added: bool
    actor: str


@dataclass(frozen=True, slots=True)
class File:
    """A file of a repository's default branch; only a found one has a text.

    same: the ETag still fits; unusable: too large, a folder, a link, or no text.
    """

    state: Literal["found", "same", "absent", "unusable"]
    text: str | None = None
    etag: str | None = None


class GitHub(Protocol):
    """One installation's view of GitHub."""

    @property
    def login(self) -> str:
        """The bot's own login ("name[bot]")."""

    def issue(self, ref: IssueRef) -> Issue:
        """The issue as it is now; `Gone` when deleted or transferred."""

    def comments(self, ref: IssueRef) -> list[Comment]:
        """All comments of the issue, oldest first."""

    def comment(self, ref: IssueRef, comment_id: int) -> Comment:
        """One comment; `Gone` when deleted."""

    def create_comment(self, ref: IssueRef, body: PassedMarkdown) -> Comment:
        """Write a new comment. After `TryAgain` it may or may not exist: look before writing again."""

    def edit_comment(self, ref: IssueRef, comment_id: int, body: PassedMarkdown) -> None:
        """Replace the bot's own comment."""

    def add_labels(self, ref: IssueRef, labels: list[PassedLabel]) -> None:
        """Set existing labels."""

    def remove_label(self, ref: IssueRef, label: PassedLabel) -> None:
        """Take a label off; one that is not there is no error."""

    def repo_labels(self, repo: RepoRef) -> frozenset[str]:
        """Names of the labels the repository has."""

    def create_label(self, repo: RepoRef, label: PassedLabel) -> None:
        """Create a label; one that exists is no error."""

    def label_events(self, ref: IssueRef) -> list[LabelEvent]:
        """Who set and removed which label, oldest first."""

    def closing(self, ref: IssueRef, at: datetime) -> Closing:
        """How the issue was closed at that time."""

    def gist(self, gist_id: str) -> list[tuple[str, str]]:
        """Name and text of each text file of a public gist, each up to a megabyte; `Gone` or `NotAllowed`."""

    def react(self, ref: IssueRef, comment_id: int, reaction: Reaction) -> None:
        """React to a comment; doing it twice is the same as once."""

    def reactions(self, ref: IssueRef, comment_id: int) -> list[tuple[str, str, datetime]]:
        """(login, content, when it was given) of each reaction to a comment."""

    def permission(self, repo: RepoRef, login: str) -> Permission:
        """What the user may do in the repository."""

    def file(self, repo: RepoRef, path: str, etag: str | None) -> File:
        """A file of the default branch, at most 64 KiB, unless `etag` still fits."""

    def recent_issues(self, repo: RepoRef, since: datetime) -> list[Issue]:
        """Open issues (no pull requests) created since then."""

    def repos(self) -> list[RepoRef]:
        """Repositories the installation covers, without the archived ones."""


class PastIssues(Protocol):
    """What a repository's history asks of GitHub once it is filled. Reads only."""

    def one(self, number: int) -> PastIssue:
        """An issue as it is now, with how it ended."""

    def visibility(self) -> str:
        """PUBLIC, INTERNAL or PRIVATE, as of now; "" where another repository has the name."""

    def first_holding(self, commits: Sequence[tuple[str, datetime]]) -> dict[str, str]:
        """The tag of the first release that holds each commit, for those that one holds."""


@dataclass(frozen=True, slots=True)
class FailedDelivery:
    """A delivery that GitHub could not hand over, with the payload it wanted to hand over."""

    guid: str
    event: str
    action: str | None
    payload: dict[str, Any] = field(repr=False)
    delivered_at: datetime


class GitHubApp(Protocol):
    """The App itself, across installations."""

    def installation(self, installation_id: int) -> GitHub:
        """The view of one installation; cached, with a token that refreshes itself."""

    def past(self, installation_id: int, repo: RepoRef) -> PastIssues:
        """A repository's issues with how they ended, and its releases, for its history."""

    def installations(self) -> list[InstallationNote]:
        """All installations, suspended ones marked."""

    def failed_deliveries(self, since: datetime) -> list[FailedDelivery]:
        """Deliveries since then none of whose attempts got a 2xx, oldest first."""


class Store(Protocol):
    """What is remembered between deliveries; every call is its own transaction."""

    def save_triage(self, record: TriageRecord) -> None:
        """Keep a triage; the newest of an issue is what counts."""

    def last_triage(self, issue: IssueRef) -> TriageRecord | None:
        """The newest triage of the issue."""

    def comment_note(self, issue: IssueRef) -> CommentNote | None:
        """What is known of the bot's comment on the issue."""

    def triage_count(self, issue: IssueRef) -> int:
        """How often the issue was triaged."""

    def save_request(self, issue: IssueRef, request: Request) -> None:
        """Keep what the comment asks for; the same item replaces the earlier one."""

    def requests(self, issue: IssueRef) -> list[Request]:
        """What was asked for, oldest first."""

    def save_resolution(self, issue: IssueRef, resolution: Resolution) -> None:
        """Keep what resolved the issue, in place of what was kept before."""

    def resolution(self, issue: IssueRef) -> Resolution | None:
        """What resolved the issue."""

    def forget_resolution(self, issue: IssueRef) -> None:
        """The issue is open again."""

    def save_comment_note(self, issue: IssueRef, note: CommentNote) -> None:
        """Replace that note."""

    def recent_comments(self, repo_id: int, since: datetime) -> list[tuple[IssueRef, CommentNote]]:
        """Live comments of the bot first noted since then (to read reactions to them)."""

    def save_label_fact(self, fact: LabelFact) -> None:
        """Keep that a person or the bot set or removed a label."""

    def label_facts(self, issue: IssueRef) -> list[LabelFact]:
        """Those facts of the issue, oldest first."""

    def save_correction(self, correction: Correction) -> None:
        """Keep a correction; one of the same `comment_id` replaces the earlier one."""

    def corrections(self, issue: IssueRef) -> list[Correction]:
        """Corrections of the issue, oldest first."""

    def save_draft_decision(self, decision: DraftDecision) -> None:
        """Keep a decision; one about the same text replaces the earlier one."""

    def draft_decision(self, issue: IssueRef, input_hash: str) -> DraftDecision | None:
        """The decision about the draft for that text."""

    def save_result(self, issue: IssueRef, result: PastedResult, at: datetime) -> None:
        """Keep pasted diagnostics blocks; the same comment id replaces them."""

    def results(self, issue: IssueRef, newest: int) -> list[PastedResult]:
        """The newest ones, newest first."""

    def forget_result(self, comment_id: int) -> None:
        """Drop the result of a comment."""

    def command_done(self, comment_id: int, digest: str) -> bool:
        """Whether the command with this digest in this comment was carried out."""

    def mark_command(self, comment_id: int, digest: str) -> None:
        """Note that it was."""

    def config(self, repo_id: int) -> ConfigCache | None:
        """The cached configuration file of the repository."""

    def save_config(self, repo_id: int, cache: ConfigCache) -> None:
        """Replace it."""

    def claim_config_note(self, repo_id: int, error: str | None) -> bool:
        """Set the cached configuration's `noted_error`; False when another worker did so before."""

    def repo_on(self, repo_id: int) -> bool:
        """False after `/triage off`; True by default."""

    def set_repo_on(self, repo_id: int, on: bool, by: str, at: datetime) -> None:
        """Switch the repository; switching on also restarts its noise count."""

    def save_dismissal(self, dismissal: Dismissal) -> None:
        """Keep that somebody found the comment useless; a second one of the issue counts no more."""

    def noise(self, repo_id: int, last: int) -> Noise:
        """Over the `last` comments posted since the repository was switched on: how many were dismissed.

        Each dismissal by a maintainer counts, and one for each other person.
        """

    def take_writes(self, installation_id: int, count: int, now: datetime) -> float:
        """Take `count` writes from the budget (80 a minute, 500 an hour), or say how many seconds to wait.

        0.0 = taken. https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
        """

    def save_installation(self, note: InstallationNote) -> None:
        """Keep an installation's state."""

    def save_repos(self, installation_id: int, added: list[RepoRef], removed: list[RepoRef]) -> None:
        """Keep which repositories an installation covers."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything `handler.process` needs; `app` is None without App credentials: then nothing is written."""

    app: GitHubApp | None
    store: Store
    clock: Clock
    core: Core
    settle_seconds: float = 20.0
    """How long a write whose answer was lost may take to show up in GitHub's list of comments."""
    script_link: Callable[[IssueRef], str | None] = lambda issue: None
    """Where people get an issue's whole diagnostics script; None = nowhere."""
    histories: Histories | None = None
    """Repositories' own histories; None = the same failure is not looked for."""
    own_labels: OwnLabels | None = None
    """Heads of repositories' own labels; None = none are suggested."""
    backfill: Callable[[int, RepoRef], None] | None = None
    """Has the history read of a repository that an installation now covers; None = it is not."""
    comparer: Comparer | None = None
    """Reads earlier issues beside a new one; None = no LLM does."""
    reports: WaveTables | None = None
    """What the tracker's state and waves are counted from; None = they are not."""
