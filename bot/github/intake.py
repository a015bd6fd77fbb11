"""From a webhook's payload to the delivery that is stored and queued."""

from __future__ import annotations

from typing import Any

from bot.github import events
from bot.github.payload import storable
from bot.jobs.queue import NewDelivery


def new_delivery(
    delivery_id: str,
    event_name: str,
    payload: dict[str, Any],
    keep_text: bool,
    edit_delay: float = 0.0,
    comment_delay: float = 0.0,
) -> NewDelivery | None:
    """The delivery to store of a payload, or None when it is nothing to us; delays in seconds."""
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
        delay=_delay(event, edit_delay, comment_delay),
    )


def _delay(event: events.Event, edit_delay: float, comment_delay: float) -> float:
    """How long it waits for the next one of a burst."""
    if not isinstance(event, events.IssueText):
        return 0.0
    return {"edited": edit_delay, "commented": comment_delay}.get(event.action, 0.0)
