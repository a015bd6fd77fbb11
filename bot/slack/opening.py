"""Opening a modal, right after the call that asks for it: its trigger lives for three seconds."""

from __future__ import annotations

import psycopg
import structlog

from bot.jobs.retry import TryLater
from bot.slack import words
from bot.slack.decisions import Open
from bot.slack.errors import Refused, SlackError
from bot.slack.modals import paste_view, wrong_view
from bot.slack.ports import SlackPorts
from bot.slack.sending import Sender
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import AxisName

log = structlog.get_logger(__name__)

_OPEN_ALREADY = "exchanged_trigger_id"
"""Slack's word for a trigger that has opened a modal. https://docs.slack.dev/reference/methods/views.open"""


def open_modal(opened: Open, ports: SlackPorts) -> None:
    """Open it; when that fails, say so by the response URL. Never raises for what Slack does."""
    try:
        refusal = _open(opened, ports)
    except (SlackError, TryLater, psycopg.Error) as error:
        if isinstance(error, Refused) and error.code == _OPEN_ALREADY:
            return  # the call came twice
        log.warning("modal not opened", modal=opened.modal, error=type(error).__name__)
        refusal = words.NOT_OPENED if opened.modal == "paste" else words.TRY_AGAIN
    if refusal:
        say_now(opened, ports, refusal)


def say_now(to: Open, ports: SlackPorts, text: str) -> None:
    """Tell the person by the response URL, if that works; nothing is repeated."""
    try:
        Sender(ports, "now").by_reply(to.reply, text)
    except (SlackError, TryLater, psycopg.Error) as error:
        log.warning("person not told", error=type(error).__name__)


def _open(opened: Open, ports: SlackPorts) -> str | None:
    """None when it is open, else what to say to the person."""
    token = ports.tokens.token(opened.workspace)
    if token is None:
        return words.NOT_OPENED
    if opened.modal == "wrong":
        kept = ports.store.triage(opened.workspace, opened.triage or "")
        if kept is None:
            return words.NO_LONGER_KEPT
        if not kept.shared and kept.asker != opened.user:
            return words.NOT_YOURS
        ports.api.open_view(
            token, opened.trigger, wrong_view(opened, lambda axis: _ids(axis, ports), ports.core.name)
        )
        return None
    try:
        ports.api.open_view(token, opened.trigger, paste_view(opened, files=True))
    except Refused as error:
        if error.code == _OPEN_ALREADY:
            raise
        # An upload box needs the scope files:read; a refused call has not used up the trigger.
        ports.api.open_view(token, opened.trigger, paste_view(opened, files=False))
    return None


def _ids(axis: AxisName, ports: SlackPorts) -> list[str]:
    known = ports.core.ids(axis)
    return [id_ for id_ in load_taxonomy().ids(axis) if id_ in known]
