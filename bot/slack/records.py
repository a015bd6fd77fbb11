"""What the Slack store keeps, as plain values; no unredacted text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

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

    @property
    def shared(self) -> bool:
        """Whether others may see it."""
        return self.shared_channel is not None


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
