"""A piece of Slack work from the queue to its end. Twice the same call does no harm."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import structlog

from bot.db.deliveries import StoredDelivery
from bot.gate.rules import GateError
from bot.jobs.retry import MAX_ATTEMPTS
from bot.jobs.runner import Ended, Handler
from bot.ports import CoreFailed
from bot.slack import words
from bot.slack.answer import render
from bot.slack.asking import ask
from bot.slack.buttons import more, script, share
from bot.slack.messages import Sender, update_shared, view_of
from bot.slack.ports import SlackPorts
from bot.slack.records import Kind, Refused, SlackCorrection, Task

log = structlog.get_logger(__name__)


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
    if not labels:
        return Ended("silent", "no known label")
    at = datetime.fromtimestamp(task.at, UTC)
    ports.store.save_correction(
        SlackCorrection(sender.delivery, kept.workspace, kept.id, task.user, labels, kept.body, at)
    )
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
