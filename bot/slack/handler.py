"""A piece of Slack work from the queue to its end, buttons among them. Twice the same call does no harm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import structlog

from bot.db.deliveries import StoredDelivery
from bot.gate.rules import GateError
from bot.jobs.runner import MAX_ATTEMPTS, Ended, Handler
from bot.ports import CoreFailed
from bot.slack import words
from bot.slack.answer import render
from bot.slack.asking import ask
from bot.slack.messages import Sender, update_shared, view_of
from bot.slack.ports import SlackPorts
from bot.slack.records import Kind, Refused, SlackCorrection, SlackTriage, Task

# What the buttons under an answer do: More, Get diagnostics script, Share.

log = structlog.get_logger(__name__)


def more(task: Task, ports: SlackPorts, sender: Sender) -> Ended:
    """Unfold the asker's own answer; under a shared one, show the whole to whoever pressed."""
    kept = _kept(task, ports)
    if isinstance(kept, str):
        return Ended("silent", sender.answer(task, kept))
    message = render(view_of(kept, ports, extras=True))
    return Ended("command", sender.answer(task, message, replace_original=not kept.shared))


def script(task: Task, ports: SlackPorts, sender: Sender) -> Ended:
    """Send the diagnostics script as a snippet to whoever pressed."""
    kept = _kept(task, ports)
    if isinstance(kept, str):
        return Ended("silent", sender.answer(task, kept))
    if not kept.triage.script.strip():
        return Ended("silent", sender.answer(task, words.NO_SCRIPT))
    token = ports.tokens.token(task.workspace)
    if token is None:
        return Ended("silent", sender.answer(task, words.SCRIPT_NOT_SENT))

    try:
        channel = ports.api.private_channel(token, task.user)
        went = sender.once(
            "script",
            lambda: ports.api.upload_script(token, channel, kept.triage.script, words.SCRIPT_COMMENT),
        )
    except Refused as error:
        log.warning("script undeliverable", why=error.code)
        return Ended("silent", sender.answer(task, words.SCRIPT_NOT_SENT))
    text = words.SCRIPT_PERHAPS_SENT if went == "unsure" else words.SCRIPT_SENT
    return Ended("command", sender.answer(task, text))


def share(task: Task, ports: SlackPorts, sender: Sender) -> Ended:
    """Post the answer where it was asked for, at most once, whoever presses how often."""
    kept = _kept(task, ports)
    if isinstance(kept, str):
        return Ended("silent", sender.answer(task, kept))
    if kept.asker != task.user:
        return Ended("silent", sender.answer(task, words.NOT_YOURS))
    if kept.shared:
        return Ended("silent", sender.answer(task, words.ALREADY_SHARED))
    # Noted under the triage's name: two presses are two deliveries, and one message.
    posted = Sender(ports, f"share:{kept.id}")
    shown = replace(kept, shared_channel=kept.channel or task.channel)
    how = ""

    def post() -> None:
        nonlocal how
        how = _post(task, ports, shown, posted)

    if posted.once("share", post) != "done":
        return Ended("silent", sender.answer(task, words.ALREADY_SHARED))
    if not how:
        ports.ledger.not_sent(f"share:{kept.id}", "share")
        return Ended("silent", sender.answer(task, words.NOT_SHARED))
    return Ended("command", how)


def _post(task: Task, ports: SlackPorts, shown: SlackTriage, sender: Sender) -> str:
    """As a message of the app, which can be updated later; where it is no member, by the response URL."""
    view = view_of(shown, ports)
    assert shown.shared_channel is not None
    token = ports.tokens.token(task.workspace)
    if token is not None:
        try:
            ts = ports.api.post(token, shown.shared_channel, render(replace(view, updated=True)))
        except Refused as error:
            log.info("shared by response URL", why=error.code)
        else:
            ports.store.share(shown.id, shown.shared_channel, ts)
            return "shared"
    # A response URL speaks in the conversation that the button was pressed in.
    if task.channel != shown.shared_channel:
        return ""
    if sender.by_reply(task.reply, render(view), response_type="in_channel"):
        ports.store.share(shown.id, shown.shared_channel, None)
        return "shared by response URL"
    return ""


def _kept(task: Task, ports: SlackPorts) -> SlackTriage | str:
    """The triage that the button stands under, or why not."""
    kept = ports.store.triage(task.workspace, task.triage or "")
    if kept is None:
        return words.NO_LONGER_KEPT
    if not kept.shared and kept.asker != task.user:
        return words.NOT_YOURS
    return kept


def slack_handler(ports: SlackPorts) -> Handler:
    """The handler of deliveries whose source is "slack"."""

    def handle(delivery: StoredDelivery) -> Ended:
        task, sender = Task.model_validate(delivery.payload), Sender(ports, delivery.id)
        try:
            return _DO[task.kind](task, ports, sender)
        except (CoreFailed, GateError):
            if delivery.attempts >= MAX_ATTEMPTS:
                sender.answer(task, words.FAILED, what="apology")
            raise

    return handle


def _correct(task: Task, ports: SlackPorts, sender: Sender) -> Ended:
    kept = ports.store.triage(task.workspace, task.triage or "")
    if kept is None:
        return Ended("silent", sender.answer(task, words.NO_LONGER_KEPT))
    if not kept.shared and kept.asker != task.user:
        return Ended("silent", sender.answer(task, words.NOT_YOURS))
    known = {
        axis: tuple(id_ for id_ in ids if id_ in ports.core.ids(axis)) for axis, ids in task.labels.items()
    }
    labels = {axis: ids for axis, ids in known.items() if ids}
    if not labels and not task.same:
        return Ended("silent", "no known label")
    at = datetime.fromtimestamp(task.at, UTC)
    ports.store.save_correction(
        SlackCorrection(sender.delivery, kept.workspace, kept.id, task.user, labels, kept.body, at, task.same)
    )
    if not labels:
        return Ended("command", sender.answer(task, words.STORED_SAME))
    if update_shared(kept, ports):
        return Ended("command", sender.answer(task, words.STORED))
    message = render(view_of(kept, ports))
    return Ended("command", sender.answer(task, message, replace_original=not kept.shared))


def _uninstall(task: Task, ports: SlackPorts, sender: Sender) -> Ended:
    gone = ports.store.uninstall(task.workspace, datetime.fromtimestamp(task.at, UTC))
    return Ended("command", "uninstalled" if gone else "installed again since")


def _revoked(task: Task, ports: SlackPorts, sender: Sender) -> Ended:
    """Tokens were revoked: the one in use, or one that it has replaced."""
    token = ports.tokens.token(task.workspace)
    if token is not None:
        try:
            ports.api.identity(token)
        except Refused:
            log.info("token revoked", workspace=task.workspace)
        else:
            return Ended("silent", "the token still works")
    return _uninstall(task, ports, sender)


_DO: dict[Kind, Callable[[Task, SlackPorts, Sender], Ended]] = {
    "triage": ask,
    "result": ask,
    "correct": _correct,
    "uninstall": _uninstall,
    "revoked": _revoked,
    "more": more,
    "script": script,
    "share": share,
}
