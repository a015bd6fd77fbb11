"""From the raw body of a signed call to what it asks for: forms, JSON in a form, JSON."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

from bot.db.clean import clean_json, clean_text
from bot.http.body import json_object
from bot.slack.decisions import Decision, Seal
from bot.slack.inbound import Unreadable, command, event
from bot.slack.interactions import interaction

_FIELDS = 100


def decide_command(body: bytes, seal: Seal, now: float) -> Decision:
    """What a slash command asks for. Raises `Unreadable`."""
    return command(_form(body), seal, now)


def decide_interaction(body: bytes, seal: Seal, now: float) -> Decision:
    """What an interaction asks for; its JSON is in the form's field "payload". Raises `Unreadable`."""
    try:
        payload: Any = clean_json(json.loads(_form(body).get("payload", ""))).obj
    except (ValueError, RecursionError) as error:
        raise Unreadable from error
    if not isinstance(payload, dict):
        raise Unreadable
    return interaction(payload, seal, now)


def decide_event(body: bytes, seal: Seal, now: float) -> Decision:
    """What an event asks for. Raises `Unreadable` and `Malformed`."""
    try:
        payload: dict[str, Any] = clean_json(json_object(body, "application/json")).obj
    except RecursionError as error:
        raise Unreadable from error
    return event(payload, now)


def _form(body: bytes) -> dict[str, str]:
    try:
        fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS)
    except ValueError as error:
        raise Unreadable from error
    return {name: clean_text(value) for name, value in fields}
