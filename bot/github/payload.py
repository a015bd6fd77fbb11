"""The parts of a webhook payload that matter, and what of it may be stored.

Shapes: https://docs.github.com/webhooks/webhook-events-and-payloads
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from bot.github.thread import ADDED, ADDED_LOG, adds_something
from knowledge.redaction import redact

TEXT_LIMIT = 65_536
"""Characters GitHub allows in an issue or comment; more never comes from there."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=False)


class Account(_Part):
    """A user, bot or organisation."""

    login: str
    type: str | None = None

    @property
    def is_bot(self) -> bool:
        """GitHub marks Apps by type; their logins end in [bot]."""
        return self.type == "Bot" or self.login.endswith("[bot]")


class Label(_Part):
    """A label on an issue."""

    name: str


class IssuePart(_Part):
    """The issue in a payload."""

    number: int
    title: str | None = None
    body: str | None = None
    user: Account | None = None
    labels: list[Label] | None = None
    state: str | None = None
    locked: bool | None = None
    pull_request: dict[str, Any] | None = None
    created_at: datetime | None = None
    closed_at: datetime | None = None
    state_reason: str | None = None
    comments: int | None = None


class CommentPart(_Part):
    """The comment in a payload."""

    id: int
    body: str | None = None
    user: Account | None = None
    author_association: str | None = None


class Repository(_Part):
    """A repository, in full or in the short form of installation events."""

    id: int
    full_name: str
    archived: bool = False
    disabled: bool = False


class Installation(_Part):
    """The installation a payload belongs to."""

    id: int
    account: Account | None = None


class Payload(_Part):
    """A payload, as far as it is read."""

    action: str | None = None
    installation: Installation | None = None
    repository: Repository | None = None
    sender: Account | None = None
    issue: IssuePart | None = None
    comment: CommentPart | None = None
    label: Label | None = None
    changes: dict[str, Any] = {}
    repositories: list[Repository] | None = None
    repositories_added: list[Repository] | None = None
    repositories_removed: list[Repository] | None = None


def added(text: str) -> str:
    """Whether a comment's text adds something and for whom, as a word of ours; "" when it does not."""
    text = text[:TEXT_LIMIT]
    by_anybody = adds_something(text, by_author=False)
    return ADDED_LOG if by_anybody else ADDED if adds_something(text, by_author=True) else ""


_REPOSITORY = {"id": None, "full_name": None}
_KEPT: dict[str, Any] = {
    "action": None,
    "installation": {"id": None, "account": {"login": None, "type": None}},
    "repository": {"id": None, "full_name": None, "archived": None, "disabled": None},
    "sender": {"login": None, "type": None},
    "issue": {
        **dict.fromkeys(("number", "state", "state_reason", "locked", "created_at", "closed_at", "comments")),
        "title": redact,
        "body": redact,
        "user": {"login": None, "type": None},
        "labels": {"name": None},
        "pull_request": {},
    },
    "comment": {
        **dict.fromkeys(("id", "author_association")),
        "body": adds_something,
        "user": {"login": None, "type": None},
    },
    "label": {"name": None},
    "changes": {"title": {}, "body": {"from": added}},
    "repositories": _REPOSITORY,
    "repositories_added": _REPOSITORY,
    "repositories_removed": _REPOSITORY,
}


def sound(text: str) -> str:
    """The text without NUL and lone surrogates, which JSON can carry and neither UTF-8 nor PostgreSQL can."""
    return text.replace("\0", "�").encode("utf-8", "replace").decode()


def storable(payload: dict[str, Any], keep_text: bool) -> dict[str, Any]:
    """What of a payload may be stored: the fields that are read, in GitHub's own shape; never raises.

    With App credentials (`keep_text` False) the text is read from GitHub when it is needed: of a comment only
    "/triage" is kept when it begins so, or a word of ours when it adds something to the report. Without
    credentials each text is kept, redacted, up to `TEXT_LIMIT`.
    """
    kept = _pick(payload, _KEPT, keep_text)
    return kept if isinstance(kept, dict) else {}


def _pick(value: Any, spec: Any, keep_text: bool) -> Any:
    if isinstance(value, list):
        # A list within a list is nothing of GitHub's, and could be nested deeper than the stack.
        return [_pick(item, spec, keep_text) for item in value if not isinstance(item, list)]
    if isinstance(spec, dict):
        if not isinstance(value, dict):
            return None
        return {key: _pick(value[key], sub, keep_text) for key, sub in spec.items() if key in value}
    if spec is redact:
        return _text(value, keep_text)
    if spec is added:
        return added(value) if isinstance(value, str) else None
    if spec is adds_something:
        return _comment_text(value, keep_text)
    return value if isinstance(value, str | int | float | bool) else None


def _text(value: Any, keep_text: bool) -> str | None:
    if not isinstance(value, str):
        return None
    if keep_text:
        # Cut only after redacting, lest half a secret stays at the edge.
        return within_limit(value)
    first = value.lstrip()[:64].split("\n", 1)[0].split()
    if first and first[0] == "/triage":
        return "/triage"
    return ""


def _comment_text(value: Any, keep_text: bool) -> str | None:
    kept = _text(value, keep_text)
    return added(value) if kept == "" and not keep_text else kept


def within_limit(text: str) -> str:
    """A text as it is kept: redacted, and of one over TEXT_LIMIT its first three quarters and its end.

    The end of a log says what failed. Each part is redacted with a margin, so that a secret at the cut is whole.
    """
    if len(text) <= TEXT_LIMIT:
        return redact(sound(text)).text[:TEXT_LIMIT]
    first = TEXT_LIMIT * 3 // 4
    head = redact(sound(text[: 2 * first])).text[:first]
    return head + redact(sound(text[-2 * (TEXT_LIMIT - first) :])).text[-(TEXT_LIMIT - first) :]
