"""Slack's published limits and what it makes live: an own reading, apart from the gate's and from slack-sdk's.

https://docs.slack.dev/reference/block-kit/blocks and .../block-elements, https://docs.slack.dev/reference/views,
https://docs.slack.dev/messaging/formatting-message-text
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

_ANGLE = re.compile(r"<([^>]*)>?")
_TEXTS = {"section": 3000, "header": 150}


def broken_message(message: dict[str, Any], links: Collection[str] | None = None) -> list[str]:
    """What is wrong with a message; `links`: all that it may link to (None = any case on GitHub)."""
    if message.get("delete_original"):
        return []
    blocks = message.get("blocks", [])
    found = [*_blocks(blocks, 50), *_live(message.get("text", ""), ())]
    if len(message.get("text", "")) > 4000:
        found.append("text longer than 4000")
    if not message.get("text"):
        found.append("no text for notifications")
    if (
        blocks
        and "ts" not in message
        and (message.get("unfurl_links") is not False or message.get("unfurl_media") is not False)
    ):
        found.append("unfurls")
    for text in _objects(blocks, "mrkdwn"):
        found += _live(text["text"], links)
        if text.get("verbatim") is not True:
            found.append("addresses become links")
    return found


def broken_view(view: dict[str, Any]) -> list[str]:
    """What is wrong with a modal."""
    found = list(_blocks(view["blocks"], 100))
    found += [f"{k} longer than 24" for k in ("title", "submit", "close") if len(view[k]["text"]) > 24]
    if len(view["private_metadata"]) > 3000 or len(view["callback_id"]) > 255:
        found.append("metadata too long")
    for box in _objects(view["blocks"], "plain_text_input"):
        if box.get("max_length", 3000) > 3000:
            found.append("max_length above 3000")
    names = [block["block_id"] for block in view["blocks"] if "block_id" in block]
    return found if len(set(names)) == len(names) else [*found, "block_id twice"]


def _blocks(blocks: list[dict[str, Any]], most: int) -> Iterator[str]:
    if len(blocks) > most:
        yield f"more than {most} blocks"
    for block in blocks:
        kind = block["type"]
        if kind in _TEXTS and not 1 <= len(block["text"]["text"]) <= _TEXTS[kind]:
            yield f"text of {kind}"
        if kind == "actions" and not 1 <= len(block["elements"]) <= 25:
            yield "elements of actions"
        if kind == "context":
            if not 1 <= len(block["elements"]) <= 10:
                yield "elements of context"
            if any(not 1 <= len(e["text"]) <= 3000 for e in block["elements"]):
                yield "text of context"
        if kind == "input" and len(block["label"]["text"]) > 2000:
            yield "label of input"
    for button in _objects(blocks, "button"):
        if len(button["text"]["text"]) > 75 or len(button["value"]) > 2000 or len(button["action_id"]) > 255:
            yield "button"
    for select in _objects(blocks, "static_select"):
        yield from _select(select)


def _select(select: dict[str, Any]) -> Iterator[str]:
    groups = select.get("option_groups", [])
    if len(groups) > 100 or any(len(group["label"]["text"]) > 75 for group in groups):
        yield "option groups"
    for options in [select["options"]] if "options" in select else [group["options"] for group in groups]:
        if not 1 <= len(options) <= 100:
            yield "number of options"
        if any(len(o["text"]["text"]) > 75 or len(o["value"]) > 150 for o in options):
            yield "option"


def _live(text: str, links: Collection[str] | None) -> list[str]:
    """Control sequences other than the allowed links: Slack reads them anywhere, in code as well."""
    found = []
    for match in _ANGLE.finditer(text):
        address = match.group(1).partition("|")[0]
        allowed = address.startswith("https://github.com/") if links is None else address in links
        if not allowed or not match.group(0).endswith(">"):
            found.append(f"live {match.group(0)[:60]}")
    return found


def _objects(value: Any, kind: str) -> Iterable[dict[str, Any]]:
    if isinstance(value, list):
        for item in value:
            yield from _objects(item, kind)
    elif isinstance(value, dict):
        if value.get("type") == kind:
            yield value
        for item in value.values():
            yield from _objects(item, kind)


def buttons(message: dict[str, Any]) -> dict[str, str]:
    """action_id to value of a message's buttons."""
    return {button["action_id"]: button["value"] for button in _objects(message["blocks"], "button")}


def shown(message: dict[str, Any]) -> str:
    """All that a message shows."""
    texts = [
        *_objects(message.get("blocks", []), "mrkdwn"),
        *_objects(message.get("blocks", []), "plain_text"),
    ]
    return "\n".join(text["text"] for text in texts) or message.get("text", "")
