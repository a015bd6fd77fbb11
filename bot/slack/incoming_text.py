"""From the text of a Slack message or command to what the person typed.

Slack escapes three characters and puts links and mentions in angle brackets; a typed bracket arrives as an
entity. Only what Slack itself puts in brackets is taken out of them, so that "172.17.0.1<41873>" stays whole even
where it came unescaped. https://docs.slack.dev/messaging/formatting-message-text
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import re2

from bot.db.connect import clean_text
from knowledge.redaction import redact

_BRACKET = re2.compile(r"<((?:[@#!][A-Za-z]|(?i:https?|mailto|tel):)[^<>|\n]*)(?:\|([^<>\n]*))?>")
_FILE_LINK = re2.compile(r"https://[\w.-]+/files/[UW][A-Z0-9]+/(F[A-Z0-9]{4,20})(?:/[^\s<>|]*)?")
_ONE_ADDRESS = re2.compile(r"^(?i)https?://\S+$")


def typed(text: str) -> str:
    """The text as typed: links by their label, entities undone, without what PostgreSQL cannot hold."""
    text = str(_BRACKET.sub(_label, clean_text(text)))
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def message_text(message: Mapping[str, Any]) -> str:
    """All that a message says, as typed. Programs that report a failed job put it into attachments or blocks."""
    parts = [_string(message, "text"), *_attached(message.get("attachments"))]
    if not any(part.strip() for part in parts):
        parts = list(_blocks(message.get("blocks")))
    return "\n".join(filter(None, map(typed, parts))).strip()


def storable(text: str) -> str:
    """The text as it may be kept: secrets redacted."""
    return redact(text).text


def file_links(text: str) -> tuple[str, ...]:
    """Ids of the Slack files that a typed text links to, at most three."""
    return tuple(dict.fromkeys(map(str, _FILE_LINK.findall(text))))[:3]


def without_file_links(text: str) -> str:
    """The text without those links."""
    return str(_FILE_LINK.sub("", text)).strip()


def is_address(text: str) -> bool:
    """Whether the text is a web address and nothing else."""
    return _ONE_ADDRESS.match(text.strip()) is not None


def _attached(attachments: Any) -> Iterator[str]:
    for one in attachments if isinstance(attachments, list) else []:
        if isinstance(one, dict):
            said = [_string(one, key) for key in ("pretext", "title", "text")]
            said = said if any(said) else list(_blocks(one.get("blocks")))
            yield from said if any(said) else [_string(one, "fallback")]


def _blocks(blocks: Any) -> Iterator[str]:
    """The texts in blocks, in their order; without recursion, for nobody bounds how deep they are."""
    waiting = [blocks]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += reversed(value)
        elif isinstance(value, dict):
            if isinstance(value.get("text"), str):
                yield value["text"]
            waiting += [inner for inner in reversed(value.values()) if isinstance(inner, dict | list)]


def _string(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _label(match: re2._Match) -> str:
    target, label = match.group(1), match.group(2)
    if label:
        return str(label)
    return str(target)
