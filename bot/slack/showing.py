"""From a kept triage to what is shown of it now, with corrections and results; and bringing that to people."""

from __future__ import annotations

from contextlib import suppress

import structlog

from bot.github.corrected import apply_corrections
from bot.slack.answer import render
from bot.slack.errors import Refused, Unsure
from bot.slack.ports import SlackPorts
from bot.slack.records import SlackTriage
from bot.slack.result_update import read_results, with_results
from bot.slack.sending import Sender
from bot.slack.task import Task
from bot.slack.view import View
from knowledge.diagnostics import Update
from knowledge.errors import InputError
from knowledge.triage import AxisName, Triage

log = structlog.get_logger(__name__)


def view_of(kept: SlackTriage, ports: SlackPorts, *, extras: bool = False) -> View:
    """The triage as it now stands: results move the causes, what people corrected stands above all."""
    triage: Triage = kept.triage
    update: Update | None = None
    with suppress(InputError):  # none, or kept by a version that read another schema
        triage, update = with_results(triage, read_results(ports.store.results(kept.id)))
    corrected: dict[AxisName, tuple[str, ...]] = {}
    for correction in ports.store.corrections(kept.id):
        corrected.update(correction.labels)
    return View(
        id=kept.id,
        triage=apply_corrections(triage, corrected),
        name=ports.core.name,
        corrected=corrected,
        update=update,
        shared=kept.shared,
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
