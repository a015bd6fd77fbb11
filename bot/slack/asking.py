"""A text that somebody asks about: a report, a diagnostics result, or a report with its result."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256

from bot.jobs.runner import Ended
from bot.slack import words
from bot.slack.answer import render
from bot.slack.files import ReadFiles, read_files
from bot.slack.messages import Sender, tell, update_shared, view_of
from bot.slack.ports import SlackPorts
from bot.slack.records import SlackTriage, Task
from bot.slack.replies import add_reply
from bot.slack.triaging import triaged, triaged_again
from knowledge.diagnostics import has_result, parse_result
from knowledge.diagnostics.result import join_blocks, split_blocks
from knowledge.errors import InputError
from knowledge.readback import without_results
from knowledge.triage import Triage

RESULT_WINDOW = timedelta(days=1)
"""How long a result pasted without a thread goes to the asker's last triage there."""


def triage_for(task: Task, ports: SlackPorts) -> SlackTriage | None:
    """The triage under whose shared answer the result was posted, else the asker's last one there."""
    if task.thread:
        found = ports.store.triage_of_thread(task.workspace, task.channel, task.thread)
        if found is not None:
            return found
    since = ports.clock.now() - RESULT_WINDOW
    return ports.store.last_triage(task.workspace, task.user, task.channel, since)


def add_result(kept: SlackTriage, text: str, task: Task, ports: SlackPorts, sender: Sender) -> Ended:
    """Keep the blocks of `text` with the triage and bring its answer up to date: the shared one, else a new one."""
    blocks = join_blocks(split_blocks(text))
    try:
        parse_result("\n".join([*ports.store.results(kept.id), blocks]))
    except InputError as error:  # each is whole, together they are too many
        return Ended("silent", tell(task, ports, sender, f"{error} {error.remedy}"))
    ports.store.save_result(sender.delivery, kept.id, task.user, blocks, ports.clock.now())
    kept = triaged_again(kept, ports)
    if update_shared(kept, ports):
        return Ended("written", "shared answer updated")
    return Ended("written", sender.answer(task, render(view_of(kept, ports))))


REMARK = 300
"""Characters beside a result that still count as a remark on it; more is a report of its own."""

SHORT = 40
"""Characters below which a text has to say something of a job to get an answer; GitHub's min_length, too."""


def ask(task: Task, ports: SlackPorts, sender: Sender) -> Ended:
    """Answer a text with its files; a result moves the triage that it belongs to."""
    files = read_files(task, ports)
    text = "\n\n".join(filter(None, [task.text, files.text]))
    if not has_result(text):
        if task.kind == "result":
            return _reply(files, task, ports, sender)
        return _triage(text, files, task, ports, sender)
    try:
        parse_result(text)
    except InputError as error:
        return Ended("silent", tell(task, ports, sender, f"{error} {error.remedy}"))
    beside = without_results(text).strip()
    kept = triage_for(task, ports)
    in_its_thread = kept is not None and kept.shared_ts is not None and kept.shared_ts == task.thread
    if kept is not None and (in_its_thread or len(beside) <= REMARK):
        return add_result(kept, text, task, ports, sender)
    if beside:
        return _triage(text, files, task, ports, sender)
    return Ended("silent", sender.answer(task, words.NO_RESULT_HERE))


def _reply(files: ReadFiles, task: Task, ports: SlackPorts, sender: Sender) -> Ended:
    kept = ports.store.triage_of_thread(task.workspace, task.channel, task.thread or "")
    if kept is None:
        return Ended("silent", "no answer here")
    return add_reply(kept, files, task, ports, sender)


def _triage(text: str, files: ReadFiles, task: Task, ports: SlackPorts, sender: Sender) -> Ended:
    if not text.strip():
        return Ended("silent", sender.answer(task, " ".join([words.NOTHING_TO_READ, *files.notes])))
    id_, now = sha256(sender.delivery.encode()).hexdigest()[:24], ports.clock.now()
    triage = triaged(id_, text, files.notes, ports)
    if len(text.strip()) < SHORT and _says_nothing(triage):
        return Ended("silent", sender.answer(task, words.TOO_LITTLE))
    kept = SlackTriage(
        id=id_,
        workspace=task.workspace,
        asker=task.user,
        channel=task.channel,
        body=text,
        notes=files.notes,
        triage=triage,
        at=now,
    )
    ports.store.save_triage(kept)
    ports.store.forget(now)
    return Ended("written", sender.answer(task, render(view_of(kept, ports))))


def _says_nothing(triage: Triage) -> bool:
    """Whether a text holds no line, error or framework of the field, and is not held for a fault: a greeting."""
    seen = triage.evidence
    return not (seen.lines or seen.signatures or seen.framework) and "fault" not in triage.type.answer
