"""A text that somebody asks about: a report, a diagnostics result, or a report with its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256
from typing import Any

import structlog

from bot.gate.rules import check_ids
from bot.jobs.runner import Ended
from bot.reports.additions import adds_evidence, both_ends, unquoted
from bot.reports.files import pasted_report
from bot.slack import words
from bot.slack.answer import render
from bot.slack.api import Downloaded
from bot.slack.inbound import storable
from bot.slack.messages import Sender, tell, update_shared, view_of
from bot.slack.ports import SlackPorts
from bot.slack.records import Refused, SlackReply, SlackTriage, Task
from bot.slack.store import SlackStore
from knowledge.diagnostics.result import join_blocks, parse_result, split_blocks
from knowledge.errors import InputError
from knowledge.readback import without_results
from knowledge.report import has_result
from knowledge.triage import Triage

# Reading the files of a task: those the person may see, where the token may, of a long one both ends.

EACH_END = 1_000_000
"""Bytes kept of either end of a file that is longer than both together."""
MARGIN = 65_536
"""Redacted beside what is kept, so that no half of a secret stays at the cut."""

_WHY = {
    "missing_scope": "the app is missing the scope files:read",
    "file_not_found": "Slack does not let the app see it; add the app to its conversation",
    "not_visible": "it is not shared in this conversation",
    "no_text": "it is not text",
    "no_token": "the app has no token in this workspace",
}


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """The redacted text of the files, and why some could not be read."""

    text: str
    notes: tuple[str, ...]


def read_files(task: Task, ports: SlackPorts) -> ReadFiles:
    """Read the task's files. Raises `Unreachable` and `TryLater` when it has to run again."""
    texts, notes = [], []
    token = ports.tokens.token(task.workspace) if task.files else None
    for place, file_id in enumerate(task.files, 1):
        try:
            if token is None:
                raise Refused("no_token")
            text, cut = _read(file_id, task, ports, token)
        except Refused as error:
            why = _WHY.get(error.code, "Slack does not release it")
            notes.append(f"File {place} was not read: {why}.")
            continue
        texts.append(text)
        if cut:
            notes.append(f"Only the first and last {EACH_END // 10**6} MB of file {place} were read.")
    return ReadFiles("\n\n".join(texts), tuple(notes))


def may_see(file: Mapping[str, Any], task: Task) -> bool:
    """Whether the asker may see a file that is only linked: the app sees more than each person does."""
    if task.files_shown or file.get("is_public") is True or file.get("user") == task.user:
        return True
    places = [file.get(kind) or [] for kind in ("channels", "groups", "ims")]
    return bool(task.channel) and any(task.channel in place for place in places if isinstance(place, list))


def _read(file_id: str, task: Task, ports: SlackPorts, token: str) -> tuple[str, bool]:
    file = ports.api.file(token, file_id)
    if not may_see(file, task):
        raise Refused("not_visible")
    url = file.get("url_private_download") or file.get("url_private")
    if not isinstance(url, str):
        raise Refused("no_text")
    found = ports.api.download(token, url, EACH_END + MARGIN)
    if b"\0" in found.head[:4096]:
        raise Refused("no_text")
    return redacted(found), found.cut


def redacted(found: Downloaded) -> str:
    """The file's text without secrets; of a long one both ends, the middle left out."""
    if not found.cut:
        return storable((found.head + found.tail).decode("utf-8", "replace"))
    head = storable(found.head.decode("utf-8", "replace"))[:EACH_END]
    tail = storable(found.tail.decode("utf-8", "replace"))[-EACH_END:]
    return f"{head}\n{tail}"


# The triage of a text with all that people added to it.


def triaged(
    id_: str, body: str, notes: tuple[str, ...], ports: SlackPorts, below: Sequence[str] = ()
) -> Triage:
    """The core's triage of a text and of what was added to it. Raises `CoreFailed` and `GateError`."""
    report = pasted_report(f"slack:{id_}", body, notes)
    triage = ports.core.triage(replace(report, body="\n\n".join([report.body, *below])))
    check_ids(triage, ports.core.ids)
    return triage


def triaged_again(kept: SlackTriage, ports: SlackPorts) -> SlackTriage:
    """With all replies and results there are, those included that another worker stores meanwhile."""
    while True:
        below = _below(kept.id, ports)
        kept = replace(kept, triage=triaged(kept.id, kept.body, kept.notes, ports, below))
        ports.store.save_triage(kept)
        if _below(kept.id, ports) == below:
            return kept


def _below(triage_id: str, ports: SlackPorts) -> list[str]:
    replies = [reply.text for reply in ports.store.replies(triage_id)]
    return [*replies, *ports.store.results(triage_id)]


# Logs, versions and answers that people post in the thread of a shared answer: they are part of the report.
#
# Whoever writes there writes about that job: a thread of colleagues, unlike an issue that strangers find. The asker's
# own short answers count, too; of others what a program printed.

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
