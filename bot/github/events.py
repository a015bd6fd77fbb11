"""Webhook payloads as typed events. Nothing in a payload can make this raise: what does not fit is `Ignored`.

Field names and meanings: https://docs.github.com/webhooks/webhook-events-and-payloads
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import ValidationError

from bot.github.payload import Account, CommentPart, Payload, Repository, sound
from bot.github.ports import Comment, Issue
from bot.github.records import InstallationNote, IssueRef, RepoRef
from bot.github.thread import adds_something, is_command, role_of


@dataclass(frozen=True, slots=True)
class IssueText:
    """An issue whose text is new to us; `issue` is the payload's view of it, old by the time it is read.

    commented: its author or a maintainer added something of substance below it, or changed or removed that;
    decided: a maintainer posted or rejected the drafted answer on the page.
    """

    ref: IssueRef
    action: Literal["opened", "edited", "reopened", "swept", "commented", "decided"]
    issue: Issue
    repo_open: bool


@dataclass(frozen=True, slots=True)
class LabelChanged:
    """Somebody set or removed a label."""

    ref: IssueRef
    label: str
    added: bool
    by: str


@dataclass(frozen=True, slots=True)
class Afterword:
    """The author of a closed issue or a maintainer wrote below it, and can have said what resolved it."""

    ref: IssueRef


@dataclass(frozen=True, slots=True)
class Answered:
    """Somebody of the project wrote below an open issue, and added nothing to the report."""

    ref: IssueRef


@dataclass(frozen=True, slots=True)
class Remarked:
    """A person wrote, changed or removed something else below an issue: only its history changes."""

    ref: IssueRef


@dataclass(frozen=True, slots=True)
class Disliked:
    """The bot's comment has thumbs down (found by the sweep: GitHub sends no webhook for them)."""

    ref: IssueRef


@dataclass(frozen=True, slots=True)
class IssueLeft:
    """An issue was closed, deleted or moved elsewhere: its repository's history changes."""

    ref: IssueRef
    action: Literal["closed", "deleted", "transferred"]
    reason: str
    """Of closing, as GitHub says it ("completed", "not_planned", "duplicate"); "" = not said."""
    closed_at: datetime | None


@dataclass(frozen=True, slots=True)
class CommandGiven:
    """A comment that begins with a command; `body` is "/triage" alone where the text was not kept."""

    ref: IssueRef
    issue: Issue
    comment_id: int
    by: str
    body: str
    repo_open: bool


@dataclass(frozen=True, slots=True)
class InstallationChanged:
    """The App was installed, removed, suspended, or given other repositories."""

    note: InstallationNote | None
    installation_id: int
    added: tuple[RepoRef, ...]
    removed: tuple[RepoRef, ...]


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing to do; `reason` is a word for metrics."""

    reason: str


OfIssue = IssueText | LabelChanged | Afterword | Answered | Remarked | Disliked | IssueLeft | CommandGiven
Event = OfIssue | InstallationChanged | Ignored

_TEXT_CHANGES = {"title", "body"}
_STATES: dict[str, Literal["active", "suspended", "deleted"]] = {
    "created": "active",
    "unsuspend": "active",
    "new_permissions_accepted": "active",
    "suspend": "suspended",
    "deleted": "deleted",
}


def parse(event: str, payload: dict[str, Any]) -> Event:
    """The typed event of a payload, whole or as `storable` left it."""
    if event not in {"issues", "issue_comment", "installation", "installation_repositories"}:
        return Ignored("ping" if event == "ping" else "other_event")
    try:
        seen = Payload.model_validate(payload)
    except ValidationError:
        return Ignored("malformed")
    if event in {"installation", "installation_repositories"}:
        return _installation(event, seen)
    if seen.installation is None:
        return Ignored("no_installation")
    if seen.repository is None or seen.issue is None:
        return Ignored("malformed")
    if seen.issue.pull_request is not None:
        return Ignored("pull_request")
    ref = IssueRef(seen.installation.id, _repo(seen.repository), seen.issue.number)
    return _issues(seen, ref) if event == "issues" else _comment(seen, ref)


def lock(event: Event) -> str | None:
    """The name under which jobs of the same issue exclude one another; None = no need."""
    ref = getattr(event, "ref", None)
    return f"github:{ref.repo.id}:{ref.number}" if ref is not None else None


def coalesce_key(event: Event) -> str | None:
    """The name under which one waiting job stands for several such events, as it reads the issue afresh.

    A swept issue stands for none: it is left alone when there is a triage, which an edit waiting before it is not.
    Nor is a reopening or a decision done with by a later edit, which may be one too many, and forgets no resolution.
    """
    if isinstance(event, Remarked):
        return f"{lock(event)}:remarks"
    merges = isinstance(event, IssueText) and event.action in {"opened", "edited", "commented"}
    return lock(event) if merges else None


def _repo(repository: Repository) -> RepoRef:
    return RepoRef(repository.id, repository.full_name)


def _login(account: Account | None) -> str:
    # GitHub shows a deleted account as null in payloads and as "ghost" on its pages.
    return account.login if account else "ghost"


def _issues(seen: Payload, ref: IssueRef) -> Event:
    if seen.action in {"labeled", "unlabeled"}:
        if seen.label is None:
            return Ignored("malformed")
        return LabelChanged(ref, seen.label.name, seen.action == "labeled", _login(seen.sender))
    if seen.action == "disliked":
        return Disliked(ref)
    if seen.action == "edited" and not _TEXT_CHANGES & seen.changes.keys():
        return Ignored("not_the_text")
    if seen.action in {"closed", "deleted", "transferred"}:
        # The repository that an issue went to sends "opened" of its own.
        assert seen.issue is not None
        reason, closed_at = seen.issue.state_reason or "", seen.issue.closed_at
        return IssueLeft(ref, seen.action, reason, closed_at)  # type: ignore[arg-type]
    if seen.action not in {"opened", "edited", "reopened", "swept", "decided"}:
        return Ignored("other_action")
    return IssueText(ref, seen.action, _issue(seen), _open(seen))  # type: ignore[arg-type]


def _comment(seen: Payload, ref: IssueRef) -> Event:
    if seen.action not in {"created", "edited"} and (seen.action != "deleted" or seen.comment is None):
        return Ignored("other_action")
    if seen.comment is None:
        return Ignored("malformed")
    if seen.comment.user is None or seen.comment.user.is_bot:
        return Ignored("bot")
    body = seen.comment.body or ""
    if not is_command(body):
        return _remark(seen, ref, seen.comment)
    if seen.action == "deleted":
        return Ignored("other_action")
    # Who edits somebody else's comment does not speak with that person's rights.
    if seen.action == "edited" and _login(seen.sender) != seen.comment.user.login:
        return Ignored("edited_by_another")
    return CommandGiven(ref, _issue(seen), seen.comment.id, seen.comment.user.login, body, _open(seen))


def _remark(seen: Payload, ref: IssueRef, comment: CommentPart) -> Event:
    """A comment that is no command; one that an edit emptied of what it added counts, too."""
    assert comment.user is not None
    issue = _issue(seen)
    said = Comment(comment.id, comment.user.login, False, "", comment.author_association or "NONE")
    role = role_of(said, issue.author)
    if role == "another reporter":
        return Remarked(ref)
    if not issue.open:
        return Afterword(ref)
    before = seen.changes.get("body")
    texts = [comment.body, before.get("from") if isinstance(before, dict) else None]
    if any(isinstance(text, str) and adds_something(text, role == "author") for text in texts):
        return IssueText(ref, "commented", issue, _open(seen))
    return Answered(ref) if role == "maintainer" and seen.action == "created" else Remarked(ref)


def _open(seen: Payload) -> bool:
    return seen.repository is not None and not (seen.repository.archived or seen.repository.disabled)


def _issue(seen: Payload) -> Issue:
    issue = seen.issue
    assert issue is not None
    return Issue(
        number=issue.number,
        title=sound(issue.title or ""),
        body=sound(issue.body or ""),
        author=_login(issue.user),
        author_is_bot=issue.user is not None and issue.user.is_bot,
        labels=frozenset(label.name for label in issue.labels or [] if label.name),
        open=issue.state != "closed",
        locked=bool(issue.locked),
        is_pull_request=issue.pull_request is not None,
        created_at=issue.created_at or datetime.fromtimestamp(0).astimezone(),
        comments=issue.comments or 0,
    )


def _installation(event: str, seen: Payload) -> Event:
    installation = seen.installation
    if installation is None:
        return Ignored("malformed")
    state = _STATES.get(seen.action or "") if event == "installation" else None
    note = InstallationNote(installation.id, _login(installation.account), state) if state else None
    listed = seen.repositories or [] if event == "installation" else seen.repositories_added or []
    return InstallationChanged(
        note,
        installation.id,
        added=tuple(_repo(r) for r in listed) if state != "deleted" else (),
        removed=tuple(_repo(r) for r in (listed if state == "deleted" else seen.repositories_removed or [])),
    )
