"""What to do about a call of Slack's: queue work, open a modal, answer at once, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from bot.slack.records import Reply, Task


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
