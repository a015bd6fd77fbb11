"""The check in front of every Slack write: finished blocks or a finished view, on a closed list and in limits.

It reads the JSON that will be sent and knows nothing of how it was made. Limits:
https://docs.slack.dev/reference/block-kit/blocks and https://docs.slack.dev/reference/views
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import re2
from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block
from slack_sdk.models.views import View

from bot.gate.rules import LINK_HOST, GateError, case_link
from knowledge.text.quote import clean, has_unseen, shorten

# Foreign text made inert for Slack: escaped everywhere, and outside plain words shown as code.
#
# https://docs.slack.dev/messaging/formatting-message-text: "&", "<" and ">" are the only control characters, so an
# escaped text can name no user, channel or group and hold no link; `verbatim` on the text object keeps Slack from
# linking what looks like an address.

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


MESSAGE_BLOCKS = 50
VIEW_BLOCKS = 100
TEXT_CHARS = 3000
INPUT_CHARS = 3000
"""The most that a plain text input takes."""

_BLOCKS = {"section", "context", "actions", "divider"}
_ELEMENTS = {"mrkdwn", "plain_text", "button"}
_VIEW_BLOCKS = _BLOCKS | {"input"}
_VIEW_ELEMENTS = _ELEMENTS | {"static_select", "plain_text_input", "file_input", "modal"}
_KEYS = frozenset({"url", "image_url", "thumb_url", "video_url", "external_id", "source"})
_SPANS = re2.compile(r"(?s)```.*?```|`[^`\n]*`")
_LINK = re2.compile(r"<(https://[^<>|\s]+)\|([^<>|]*)>")
_BAD_ENTITY = re2.compile(r"&(?:amp;|lt;|gt;)|(&)")


@dataclass(frozen=True, slots=True)
class PassedMessage:
    """A message for Slack; made only by `pass_message`."""

    text: str
    blocks: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class PassedView:
    """A modal for Slack; made only by `pass_view`."""

    view: dict[str, Any]


def pass_message(text: str, blocks: Sequence[Block], links: Collection[str] = ()) -> PassedMessage:
    """The message, checked; `links` are all it may link to. `GateError` names the broken rules."""
    made = _made(blocks)
    _refuse([*_whole(text, made), *_walk(made, links, _BLOCKS | _ELEMENTS)])
    return PassedMessage(text, tuple(made))


def pass_view(view: View) -> PassedView:
    """The modal, checked. `GateError` names the broken rules."""
    made = _made([view])
    broken = [] if 0 < len(made[0]["blocks"]) <= VIEW_BLOCKS else ["number of blocks"]
    _refuse([*broken, *_walk(made, (), _VIEW_BLOCKS | _VIEW_ELEMENTS)])
    return PassedView(made[0])


def _refuse(broken: Iterable[str]) -> None:
    found = list(dict.fromkeys(broken))
    if found:
        raise GateError(found)


def _whole(text: str, blocks: list[dict[str, Any]]) -> Iterable[str]:
    if not 0 < len(blocks) <= MESSAGE_BLOCKS:
        yield "number of blocks"
    if not 0 < len(text) <= TEXT_CHARS:
        yield "length of the text"
    # The notification's text: ours alone, so plain that it needs no code.
    if any(char in "<>`" for char in text) or any(_BAD_ENTITY.findall(text)) or has_unseen(text):
        yield "control character in the text"
    yield from live(text)


def _made(objects: Sequence[Block | View]) -> list[dict[str, Any]]:
    """The JSON; slack-sdk checks limits of each part while making it."""
    try:
        return [one.to_dict() for one in objects]
    except SlackObjectFormationError as error:
        raise GateError([str(error)]) from error


def _walk(value: Any, links: Collection[str], kinds: Collection[str]) -> Iterable[str]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item, links, kinds)
    if not isinstance(value, dict):
        return
    kind = value.get("type")
    if kind is not None and kind not in kinds:
        yield f"element {kind}"
    if _KEYS & value.keys():
        yield "an address as an attribute"
    if kind == "mrkdwn":
        yield from _mrkdwn(value, links)
    elif kind == "plain_text":
        yield from _plain(_text(value), emoji=value.get("emoji"))
    for item in value.values():
        yield from _walk(item, links, kinds)


def _text(value: Mapping[str, Any]) -> str:
    # slack-sdk leaves out a text that is empty.
    return str(value.get("text", ""))


def _plain(text: str, emoji: bool | None) -> Iterable[str]:
    if emoji:
        yield "emoji in a plain text"
    if not 0 < len(text) <= TEXT_CHARS:
        yield "length of a text"
    if has_unseen(text):
        yield "invisible character"


def _mrkdwn(value: dict[str, Any], links: Collection[str]) -> Iterable[str]:
    text = _text(value)
    if value.get("verbatim") is not True:
        yield "a text that is not verbatim"
    if not 0 < len(text) <= TEXT_CHARS:
        yield "length of a text"
    bare = _SPANS.sub(" ", text)
    for address, label in _LINK.findall(bare):
        if address not in links or not label.strip():
            yield "link to somewhere else"
    without = _LINK.sub(" ", bare)
    # Slack reads brackets within code, too.
    if any(char in "<>" for char in without + "".join(_SPANS.findall(text))):
        yield "control character"
    if any(_BAD_ENTITY.findall(text)):
        yield "bare ampersand"
    if has_unseen(text):
        yield "invisible character"
    yield from live(without)
