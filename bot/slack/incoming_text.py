"""From the text of a Slack message or command to what the person typed.

Slack escapes three characters and puts links and mentions in angle brackets; a typed bracket arrives as an
entity, so undoing this is unambiguous. https://docs.slack.dev/messaging/formatting-message-text
"""

from __future__ import annotations

import re2

from bot.db.clean import clean_text
from knowledge.redact import redact

_BRACKET = re2.compile(r"<([^<>|\n]*)(?:\|([^<>\n]*))?>")
_FILE_LINK = re2.compile(r"https://[\w.-]+/files/[UW][A-Z0-9]+/(F[A-Z0-9]{4,20})(?:/[^\s<>|]*)?")
_ONE_ADDRESS = re2.compile(r"^(?i)https?://\S+$")


def typed(text: str) -> str:
    """The text as typed: links by their label, entities undone, without what PostgreSQL cannot hold."""
    text = str(_BRACKET.sub(_label, clean_text(text)))
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


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


def _label(match: re2._Match) -> str:
    target, label = match.group(1), match.group(2)
    if label:
        return str(label)
    return str(target)
