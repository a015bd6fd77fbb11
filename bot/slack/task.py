"""A piece of work that Slack asked for, as it lies in the queue: no unredacted text, no open address."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from knowledge.triage import AxisName

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
    labels: dict[AxisName, tuple[str, ...]] = {}
