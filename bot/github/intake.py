"""From a webhook's payload to the delivery that is stored and queued."""

from __future__ import annotations

from typing import Any

from bot.github import events
from bot.github.payload import storable
from bot.jobs.queue import NewDelivery


def new_delivery(
    delivery_id: str, event_name: str, payload: dict[str, Any], keep_text: bool, edit_delay: float = 0.0
) -> NewDelivery | None:
    """The delivery to store of a payload, or None when it is nothing to us."""
    event = events.parse(event_name, payload)
    if isinstance(event, events.Ignored):
        return None
    lock = events.lock(event) or f"github:delivery:{delivery_id}"
    coalesces = events.coalesces(event)
    action = payload.get("action")
    return NewDelivery(
        id=delivery_id,
        source="github",
        event=event_name,
        action=action if isinstance(action, str) else None,
        lock=lock,
        coalesce_key=lock if coalesces else None,
        payload=storable(payload, keep_text),
        delay=edit_delay if coalesces and (action == "edited" or event_name == "issue_comment") else 0.0,
    )
