"""What the Slack store keeps, as plain values; no unredacted text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

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
