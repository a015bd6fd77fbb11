"""A piece of Slack work from the queue to its end. Twice the same call does no harm."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import structlog

from bot.db.deliveries import StoredDelivery
from bot.gate.ids import check_ids
from bot.gate.passed import GateError
from bot.jobs.retry import MAX_ATTEMPTS
from bot.jobs.runner import Ended, Handler
from bot.slack import words
from bot.slack.answer import render
from bot.slack.buttons import more, script, share
from bot.slack.files import read_files
from bot.slack.ports import SlackPorts
from bot.slack.records import SlackCorrection, SlackTriage
from bot.slack.result_update import read_results
from bot.slack.sending import Sender
from bot.slack.showing import tell, update_shared, view_of
from bot.slack.task import Kind, Task
from bot.triage_process import CoreFailed
from knowledge.diagnostics import has_result
from knowledge.errors import InputError
from knowledge.report import Report

log = structlog.get_logger(__name__)

RESULT_WINDOW = timedelta(days=1)
"""How long a result pasted without a thread goes to the asker's last triage there."""


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


def _triage(task: Task, ports: SlackPorts, sender: Sender) -> Ended:
    files = read_files(task, ports)
    body = "\n\n".join(filter(None, [task.text, files.text]))
    if has_result(files.text) and not task.text:
        return _result(task.model_copy(update={"text": body, "files": ()}), ports, sender)
    if not body.strip():
        return Ended("silent", sender.answer(task, " ".join([words.NOTHING_TO_READ, *files.notes])))
    id_ = sha256(sender.delivery.encode()).hexdigest()[:24]
    report = Report(
        id=f"slack:{id_}", title="", body=body, is_log="\n```" not in f"\n{body}", notes=files.notes
    )
    triage = ports.core.triage(report)
    check_ids(triage, ports.core.ids)
    kept = SlackTriage(
        id_, task.workspace, task.user, task.channel, body, files.notes, triage, ports.clock.now()
    )
    ports.store.save_triage(kept)
    ports.store.forget(ports.clock.now())
    return Ended("written", sender.answer(task, render(view_of(kept, ports))))


def _result(task: Task, ports: SlackPorts, sender: Sender) -> Ended:
    files = read_files(task, ports)
    text = "\n\n".join(filter(None, [task.text, files.text]))
    if task.thread and not has_result(text):
        return Ended("silent", "no result in the reply")
    kept = _triage_for(task, ports)
    if kept is None:
        return Ended("silent", sender.answer(task, words.NO_RESULT_HERE))
    try:
        read_results([*ports.store.results(kept.id), text])
    except InputError as error:
        return Ended("silent", tell(task, ports, sender, f"{error} {error.remedy}"))
    ports.store.save_result(sender.delivery, kept.id, task.user, text, ports.clock.now())
    if update_shared(kept, ports):
        return Ended("written", "shared answer updated")
    return Ended("written", sender.answer(task, render(view_of(kept, ports))))


def _triage_for(task: Task, ports: SlackPorts) -> SlackTriage | None:
    if task.thread:
        found = ports.store.triage_of_thread(task.workspace, task.channel, task.thread)
        if found is not None:
            return found
    since = ports.clock.now() - RESULT_WINDOW
    return ports.store.last_triage(task.workspace, task.user, task.channel, since)


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


_DO: dict[Kind, Callable[[Task, SlackPorts, Sender], Ended]] = {
    "triage": _triage,
    "result": _result,
    "correct": _correct,
    "uninstall": _uninstall,
    "more": more,
    "script": script,
    "share": share,
}
