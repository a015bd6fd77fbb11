"""What the buttons under an answer do: More, Get diagnostics script, Share."""

from __future__ import annotations

from dataclasses import replace

import structlog

from bot.jobs.runner import Ended
from bot.slack import words
from bot.slack.answer import render
from bot.slack.messages import Sender, view_of
from bot.slack.ports import SlackPorts
from bot.slack.records import Refused, SlackTriage, Task

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
