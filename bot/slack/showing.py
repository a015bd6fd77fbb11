"""From a kept triage to what is shown of it now, with corrections; and bringing that to people."""

from __future__ import annotations

import structlog

from bot.github.corrected import apply_corrections
from bot.slack.answer import render
from bot.slack.errors import Refused, Unsure
from bot.slack.ports import SlackPorts
from bot.slack.records import SlackTriage
from bot.slack.sending import Sender
from bot.slack.task import Task
from bot.slack.view import View
from knowledge.corrections import merged

log = structlog.get_logger(__name__)


def view_of(kept: SlackTriage, ports: SlackPorts, *, extras: bool = False) -> View:
    """The triage as it now stands: what people corrected stands above it."""
    corrected = merged([correction.labels for correction in ports.store.corrections(kept.id)])
    return View(
        id=kept.id,
        triage=apply_corrections(kept.triage, corrected),
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
