"""Diagnostics results: which triage one belongs to, and that triage made anew with all of its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from bot.gate.ids import check_ids
from bot.jobs.runner import Ended
from bot.reports.pasted import pasted_report
from bot.slack.answer import render
from bot.slack.ports import SlackPorts
from bot.slack.records import SlackTriage
from bot.slack.sending import Sender
from bot.slack.showing import tell, update_shared, view_of
from bot.slack.task import Task
from knowledge.diagnostics import parse_result
from knowledge.diagnostics.result import FENCE, split_blocks
from knowledge.errors import InputError
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
    blocks = "\n".join(f"{FENCE}\n{body}\n```" for body in split_blocks(text))
    try:
        parse_result("\n".join([*ports.store.results(kept.id), blocks]))
    except InputError as error:  # each is whole, together they are too many
        return Ended("silent", tell(task, ports, sender, f"{error} {error.remedy}"))
    ports.store.save_result(sender.delivery, kept.id, task.user, blocks, ports.clock.now())
    kept = _made_anew(kept, ports)
    if update_shared(kept, ports):
        return Ended("written", "shared answer updated")
    return Ended("written", sender.answer(task, render(view_of(kept, ports))))


def triaged(
    id_: str, body: str, notes: tuple[str, ...], ports: SlackPorts, results: Sequence[str] = ()
) -> Triage:
    """The core's triage of a text and of what diagnostics found. Raises `CoreFailed` and `GateError`."""
    report = pasted_report(f"slack:{id_}", body, notes)
    triage = ports.core.triage(replace(report, body="\n\n".join([report.body, *results])))
    check_ids(triage, ports.core.ids)
    return triage


def _made_anew(kept: SlackTriage, ports: SlackPorts) -> SlackTriage:
    """With all results there are, those included that another worker stores meanwhile."""
    while True:
        results = ports.store.results(kept.id)
        kept = replace(kept, triage=triaged(kept.id, kept.body, kept.notes, ports, results))
        ports.store.save_triage(kept)
        if ports.store.results(kept.id) == results:
            return kept
