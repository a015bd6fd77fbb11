"""What the Slack store keeps, and what a call of Slack's leads to: plain values, no unredacted text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from knowledge.errors import DistriageError
from knowledge.triage import AxisName, Triage


@dataclass(frozen=True, slots=True)
class Installation:
    """The app in a workspace; `sealed_token` is its bot token, encrypted."""

    workspace: str
    name: str
    bot_user: str
    scopes: str
    sealed_token: str
    installed_at: datetime
    sealed_refresh: str | None = None
    expires_at: datetime | None = None
    """None for a token that does not expire."""


@dataclass(frozen=True, slots=True)
class SlackTriage:
    """A triage and where its answer is: with the asker alone until it is shared in a channel."""

    id: str
    workspace: str
    asker: str
    channel: str
    body: str
    notes: tuple[str, ...]
    triage: Triage
    at: datetime
    shared_channel: str | None = None
    shared_ts: str | None = None
    """None for a shared answer that was posted where the app is no member, and cannot be updated."""
    updates: int = 0
    """How often replies in its thread changed what it was made from."""

    @property
    def shared(self) -> bool:
        """Whether others may see it."""
        return self.shared_channel is not None


@dataclass(frozen=True, slots=True)
class SlackReply:
    """What one message in the thread of an answer adds to the report."""

    ts: str
    by: str
    text: str


@dataclass(frozen=True, slots=True)
class SlackCorrection:
    """A report labelled by a person in Slack."""

    delivery_id: str
    workspace: str
    triage_id: str
    by: str
    labels: dict[AxisName, tuple[str, ...]]
    body: str
    at: datetime
    same: str = ""
    """The issue that shows the same failure: "12" or "owner/name#12"; "" = none was named."""


Kind = Literal["triage", "result", "more", "script", "share", "correct", "uninstall", "revoked"]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Reply(_Value):
    """A response URL (sealed), and when Slack issued it, in Unix seconds."""

    sealed: str
    issued: float


class Task(_Value):
    """One piece of work; which fields are set depends on `kind`."""

    kind: Kind
    workspace: str
    """The team's id, or the enterprise's for an app installed in a whole organisation."""
    user: str = ""
    channel: str = ""
    at: float
    """When Slack says that it happened, in Unix seconds."""
    reply: Reply | None = None
    text: str = ""
    files: tuple[str, ...] = ()
    files_shown: bool = False
    """True when Slack itself attached the files to what the person sees or sent; False for a mere link."""
    triage: str | None = None
    """The triage that a button stands under."""
    thread: str | None = None
    """The message that a thread hangs on."""
    ts: str = ""
    """The message itself; of one that was edited or deleted the same."""
    labels: dict[AxisName, tuple[str, ...]] = {}
    same: str = ""
    """Of a correction: the issue that shows the same failure."""


class SlackError(DistriageError):
    """A call to Slack that did not do what it was for."""


class Unreachable(SlackError):
    """Nothing has reached Slack, so the same call may be made again."""


class Unsure(SlackError):
    """The call went out and its answer was lost."""


class Gone(SlackError):
    """A response URL that has expired (30 minutes) or is used up (five messages)."""


class Refused(SlackError):
    """Slack answered with an error."""

    def __init__(self, code: str) -> None:
        super().__init__(f"Slack refuses: {code}")
        self.code = code


# What to do about a call of Slack's: queue work, open a modal, answer at once, or nothing.


@dataclass(frozen=True, slots=True)
class Queue:
    """Put the task in the queue under `id`, which Slack's retries repeat."""

    task: Task
    id: str
    counts: bool = False
    """Whether it counts against the workspace's rate limit."""
    if_shared: bool = False
    """Only when the task's thread hangs on an answer of ours; otherwise nothing of it is kept."""
    from_modal: bool = False
    """A submitted modal shows errors in the answer to its call; Slack shows no other interaction's answer."""


@dataclass(frozen=True, slots=True)
class Open:
    """Open a modal now: the trigger lives for three seconds."""

    modal: Literal["paste", "wrong"]
    workspace: str
    trigger: str
    user: str
    channel: str
    reply: Reply | None
    triage: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer the call with this JSON; None = an empty 200."""

    body: dict[str, Any] | None = None


Decision = Queue | Open | Answer


class Seal(Protocol):
    """Encrypts a response URL."""

    def seal(self, text: str) -> str:
        """The text as it may be stored."""


def say(text: str) -> Answer:
    """An answer that only the asker sees; `text` is ours and holds no foreign words."""
    return Answer({"response_type": "ephemeral", "text": text})
