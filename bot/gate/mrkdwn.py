"""Foreign text made inert for Slack: escaped everywhere, and outside plain words shown as code.

https://docs.slack.dev/messaging/formatting-message-text: "&", "<" and ">" are the only control characters, so
an escaped text can name no user, channel or group and hold no link; `verbatim` on the text object keeps Slack
from linking what looks like an address.
"""

from __future__ import annotations

import re2

from bot.gate.rules import LINK_HOST, case_link
from knowledge.text.quote import clean, shorten

TICK = "\u02cb"
"""Stands for a backtick within code, where Slack knows no escape: it looks the same and ends nothing."""

_LIVE = {
    "mention": re2.compile(r"[@＠]\S"),
    "channel": re2.compile(r"#[\pL\pN_-]"),
    "address": re2.compile(r"(?i)(www\.|[a-z][a-z0-9+.-]*:/|mailto:|tel:)"),
    "mail address": re2.compile(r"\S@\S"),
    "emoji": re2.compile(r":[\pL\pN_+'-]+:"),
}
_PLAIN = re2.compile(r"^[\pL\pN.,;:'\"()/%+=?&’–—→-]+$")
_WORD = re2.compile(r"`[^`]+`|[^\s`]+|`")
_LABEL = re2.compile(r"^[A-Za-z0-9 #/_.,:-]{1,120}$")


def escape(text: str) -> str:
    """Slack's three control characters as entities."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def live(text: str) -> list[str]:
    """Names of what Slack could make live in this text, were it shown outside code and not verbatim."""
    return [name for name, pattern in _LIVE.items() if pattern.search(text)]


def code(text: str, limit: int = 200) -> str:
    """One line of foreign text as inline code; "`-`" when nothing is left of it."""
    line = shorten(" ".join(clean(text).split()), limit)
    return f"`{escape(line.replace('`', TICK))}`" if line else "`-`"


def code_block(lines: list[str], room: int) -> str:
    """Lines of foreign text as a code block of at most `room` characters; lines that do not fit are left out."""
    room -= 8
    kept: list[str] = []
    for line in lines:
        shown = escape(" ".join(clean(line).split("\n")).replace("`", TICK)).rstrip()
        if len(shown) + 1 > room:
            kept.append("…")
            break
        kept.append(shown)
        room -= len(shown) + 1
    return "```\n" + "\n".join(kept) + "\n```"


def prose(text: str, limit: int = 400) -> str:
    """A sentence from data: plain words stay words, whatever could be live or markup becomes inline code."""
    text = shorten(" ".join(clean(text).split()), limit)
    words = [_part(match.group(0)) for match in _WORD.finditer(text)]
    sentence = " ".join(filter(None, words)) or "`-`"
    return sentence if not live("".join(sentence.split("`")[::2])) else code(text, limit)


def link(url: str, label: str) -> tuple[str, str | None]:
    """A case as a link with its address, or as code with None when it may not be linked."""
    passed = case_link(url)
    if passed is None or clean(label) != label or not _LABEL.match(label):
        return code(label, 100), None
    address = passed.replace(LINK_HOST, "github.com", 1)
    return f"<{address}|{label}>", address


def _part(word: str) -> str:
    if word.startswith("`"):
        return code(word.strip("`")) if word.strip("`") else ""
    body = word.lstrip("(")
    lead = word[: len(word) - len(body)]
    core = body.rstrip(".,;:)?")
    trail = body[len(core) :]
    if not core:
        return word
    return lead + (escape(core) if _PLAIN.match(core) and not live(core) else code(core)) + trail
