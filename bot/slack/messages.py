"""One message for one piece of work, to where its asker sees it; and the answer that it shows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import structlog

from bot.gate.slack import PassedMessage
from bot.jobs.runner import TryLater
from bot.slack.answer import View, render
from bot.slack.ports import SlackPorts
from bot.slack.records import Gone, Refused, Reply, SlackTriage, Task, Unreachable, Unsure
from bot.slack.tokens import Sealed
from knowledge.corrections import correct, merged
from knowledge.taxonomy import load_taxonomy

log = structlog.get_logger(__name__)


def view_of(kept: SlackTriage, ports: SlackPorts, *, extras: bool = False) -> View:
    """The triage as it now stands: what people corrected stands above it."""
    corrected = merged([correction.labels for correction in ports.store.corrections(kept.id)])
    return View(
        id=kept.id,
        triage=correct(kept.triage, corrected, load_taxonomy()),
        name=ports.core.name,
        corrected=corrected,
        shared=kept.shared,
        updated=kept.shared_ts is not None,
        extras=extras,
        notes=kept.notes,
    )


def update_shared(kept: SlackTriage, ports: SlackPorts) -> bool:
    """Bring the shared answer up to date; False when there is none that can be changed.

    Changing a message twice to the same is harmless, so an answer that was lost is no matter.
    """
    token = ports.tokens.token(kept.workspace)
    if kept.shared_channel is None or kept.shared_ts is None or token is None:
        return False
    try:
        ports.api.change(token, kept.shared_channel, kept.shared_ts, render(view_of(kept, ports)))
    except Refused as error:
        log.warning("shared answer not updated", why=error.code)
        return False
    except Unsure as error:
        log.warning("shared answer perhaps not updated", error=str(error))
    return True


def tell(task: Task, ports: SlackPorts, sender: Sender, text: str) -> str:
    """Tell one person something of ours: by the response URL, else in the thread, seen by nobody else."""
    token = ports.tokens.token(task.workspace)
    if task.reply is not None or task.thread is None or token is None:
        return sender.answer(task, text, what="note")
    try:
        sent = sender.once(
            "note", lambda: ports.api.post_to_one(token, task.channel, task.user, text, task.thread)
        )
    except Refused as error:
        log.warning("note undeliverable", why=error.code)
        return "undeliverable"
    return "told" if sent == "done" else f"told: {sent}"


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
