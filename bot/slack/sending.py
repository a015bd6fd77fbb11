"""One message for one piece of work: by its response URL while that lives, else to the asker directly.

Before a message goes out that is noted, and what is noted is not sent again: of two runs of the same work, or
of one that was cut off, only one can have answered. Only a call that certainly did not reach Slack is repeated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import structlog

from bot.gate.slack import PassedMessage
from bot.jobs.retry import TryLater
from bot.slack.errors import Gone, Refused, Unreachable, Unsure
from bot.slack.ports import SlackPorts
from bot.slack.task import Reply, Task
from bot.slack.vault import Sealed

log = structlog.get_logger(__name__)

Once = Literal["done", "before", "unsure"]

REPLY_SECONDS = 30 * 60 - 10
"""A response URL's life, with a margin for the way there."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends the messages of one delivery."""

    ports: SlackPorts
    delivery: str

    def answer(self, task: Task, message: PassedMessage | str, what: str = "answer", **how: Any) -> str:
        """Send to the person who asked, and to nobody else; returns how it went, for the log.

        "sent", "sent directly", "sent before", "perhaps sent", "undeliverable". `how` is for response URLs
        (`replace_original`). Raises `Unreachable` and `TryLater` when it has to run again.
        """
        went = ""

        def send() -> None:
            nonlocal went
            went = "sent" if self.by_reply(task.reply, message, **how) else self._directly(task, message)

        done = self.once(what, send)
        return went if done == "done" else "sent before" if done == "before" else "perhaps sent"

    def once(self, what: str, send: Callable[[], None]) -> Once:
        """Call `send` unless it was called before for this delivery.

        "unsure": it was called now and its answer was lost. Raises what `send` raises otherwise; then it has
        had no effect and may be called again.
        """
        if not self.ports.ledger.begin(self.delivery, what, self.ports.clock.now()):
            return "before"
        try:
            send()
        except (Unreachable, TryLater, Refused):
            self.ports.ledger.not_sent(self.delivery, what)
            raise
        except Unsure as error:
            log.warning("message perhaps sent", what=what, error=str(error))
            return "unsure"
        self.ports.ledger.sent(self.delivery, what)
        return "done"

    def by_reply(self, reply: Reply | None, message: PassedMessage | str, **how: Any) -> bool:
        """Through the response URL; False when there is none, or it is too old or used up."""
        if reply is None or self.ports.clock.now().timestamp() - reply.issued > REPLY_SECONDS:
            return False
        try:
            url = self.ports.vault.open(reply.sealed)
        except Sealed:
            return False
        digest = hashlib.sha256(url.encode()).hexdigest()
        if not self.ports.ledger.use_reply(digest, self.ports.clock.now()):
            return False
        try:
            self.ports.api.respond(url, message, **how)
        except Gone:
            return False
        return True

    def _directly(self, task: Task, message: PassedMessage | str) -> str:
        """In the conversation between the app and the asker: an answer not shared is nobody else's."""
        token = self.ports.tokens.token(task.workspace)
        if token is None:
            log.warning("answer undeliverable", why="response URL spent, no token")
            return "undeliverable"
        try:
            self.ports.api.post(token, task.user, message)
        except Refused as error:
            log.warning("answer undeliverable", why=error.code)
            return "undeliverable"
        return "sent directly"
