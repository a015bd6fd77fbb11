"""Logs, versions and answers that people post in the thread of a shared answer: they are part of the report.

Whoever writes there writes about that job: a thread of colleagues, unlike an issue that strangers find. The asker's
own short answers count, too; of others what a program printed.
"""

from __future__ import annotations

import structlog

from bot.jobs.runner import Ended
from bot.reports.additions import adds_evidence, both_ends, unquoted
from bot.slack.files import ReadFiles
from bot.slack.messages import Sender, tell, update_shared
from bot.slack.ports import SlackPorts
from bot.slack.records import SlackReply, SlackTriage, Task
from bot.slack.store import SlackStore
from bot.slack.triaging import triaged_again
from knowledge.diagnostics import has_result

log = structlog.get_logger(__name__)

MOST_UPDATES = 20
"""Of one answer by replies; diagnostics results are counted apart."""
MOST_CHARS = 65_536
"""Kept of one reply with its files, both ends."""


def belongs(task: Task, store: SlackStore) -> bool:
    """Whether a message in a thread is part of the report of an answer there: by its words, or it was before."""
    kept = store.triage_of_thread(task.workspace, task.channel, task.thread or "")
    if kept is None:
        return False
    if task.files or has_result(task.text) or _adds(task.text, task, kept):
        return True
    return any(reply.ts == task.ts for reply in store.replies(kept.id))


def add_reply(kept: SlackTriage, files: ReadFiles, task: Task, ports: SlackPorts, sender: Sender) -> Ended:
    """Keep what a message adds (nothing, once it was deleted) and bring the shared answer up to date."""
    said = [text for text in (task.text, files.text) if _adds(text, task, kept)]
    whole = "\n\n".join(unquoted(text).strip() for text in said)
    before = next((reply.text for reply in ports.store.replies(kept.id) if reply.ts == task.ts), "")
    added = both_ends(whole, MOST_CHARS)
    if added == before:
        # Said already, by an earlier run perhaps, which may have ended before the answer was changed.
        if not added:
            return Ended(
                "silent", tell(task, ports, sender, " ".join(files.notes)) if files.notes else "adds nothing"
            )
    elif added and kept.updates >= MOST_UPDATES:
        return Ended("silent", "many_updates")
    else:
        ports.store.save_reply(kept.id, SlackReply(task.ts, task.user, added), ports.clock.now())
        ports.store.count_update(kept.id)
    updated = update_shared(triaged_again(kept, ports), ports)
    return Ended("written", "shared answer updated" if updated else "shared answer cannot be updated")


def _adds(text: str, task: Task, kept: SlackTriage) -> bool:
    return adds_evidence(text, by_author=task.user == kept.asker)
