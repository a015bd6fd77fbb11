"""What the calls of Slack ask for: slash commands and events. Pure but for sealing.

https://docs.slack.dev/interactivity/implementing-slash-commands and https://docs.slack.dev/apis/events-api
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import re2

from bot.db.connect import clean_text
from bot.reports.additions import adds_evidence
from bot.slack import words
from bot.slack.records import Answer, Decision, Open, Queue, Reply, Seal, Task, say
from knowledge.redaction import redact
from knowledge.report import has_result

# From the text of a Slack message or command to what the person typed.
#
# Slack escapes three characters and puts links and mentions in angle brackets; a typed bracket arrives as an entity.
# Only what Slack itself puts in brackets is taken out of them, so that "172.17.0.1<41873>" stays whole even where it
# came unescaped. https://docs.slack.dev/messaging/formatting-message-text

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


_LONGEST_ID = 40
_LONGEST_URL = 1000
_CHANGES = {"message_changed", "message_deleted"}
_PEOPLE = {None, "file_share", "thread_broadcast"}
"""Subtypes of messages that a person wrote."""


class Unreadable(Exception):
    """The call lacks what Slack's calls always have."""


def command(form: Mapping[str, str], seal: Seal, now: float) -> Decision:
    """What a slash command asks for. Raises `Unreadable`."""
    if form.get("ssl_check") == "1":
        return Answer()  # Slack looks at the certificate from time to time
    text = typed(form.get("text", "")).strip()
    workspace = workspace_of(
        form.get("team_id"), form.get("enterprise_id"), form.get("is_enterprise_install")
    )
    reply = reply_of(form.get("response_url"), seal, now)
    user, channel, trigger = (
        id_of(form.get("user_id")),
        id_of(form.get("channel_id")),
        form.get("trigger_id", ""),
    )
    if not text:
        return Open("paste", workspace, trigger, user, channel, reply)
    if text.lower() in {"help", "?", "--help", "-h"}:
        return say(words.HELP)
    files = file_links(text)
    rest = without_file_links(text)
    if is_address(rest):
        return say(words.NO_PAGES)
    task = Task(
        kind="result" if has_result(rest) else "triage",
        workspace=workspace,
        user=user,
        channel=channel,
        at=now,
        reply=reply,
        text=storable(rest),
        files=files,
    )
    return Queue(task, call_id(workspace, trigger), counts=True)


def event(payload: Mapping[str, Any], now: float) -> Decision:
    """What an event asks for; most ask for nothing. Raises `Unreadable`."""
    if payload.get("type") == "url_verification":
        challenge = payload.get("challenge")
        return Answer({"challenge": challenge if isinstance(challenge, str) else ""})
    inner, event_id = payload.get("event"), payload.get("event_id")
    if not isinstance(inner, dict) or not isinstance(event_id, str):
        raise Unreadable
    workspace = _event_workspace(payload)
    at = payload.get("event_time")
    at = float(at) if isinstance(at, int | float) else now
    kind = inner.get("type")
    if kind == "app_uninstalled":
        return Queue(Task(kind="uninstall", workspace=workspace, at=at), call_id(workspace, event_id))
    if kind == "tokens_revoked" and _bots_revoked(inner):
        return Queue(Task(kind="revoked", workspace=workspace, at=at), call_id(workspace, event_id))
    if kind == "message":
        return _message(inner, workspace, call_id(workspace, event_id), at)
    return Answer()


def _message(message: Mapping[str, Any], workspace: str, id_: str, at: float) -> Decision:
    """A reply in a thread, an edit of one, or its deletion; whether it adds anything is looked at with its answer."""
    channel, change = id_of(message.get("channel")), message.get("subtype")
    before: Mapping[str, Any] = {}
    if change in _CHANGES:
        before = _inner(message, "previous_message")
        message = _inner(message, "message") if change == "message_changed" else before
    gone = change == "message_deleted" or message.get("subtype") == "tombstone"
    thread, ts = message.get("thread_ts"), _str(message, "ts")
    by_person = message.get("subtype") in _PEOPLE or (gone and before.get("subtype") in _PEOPLE)
    if not by_person or message.get("bot_id") or not isinstance(thread, str) or thread == ts:
        return Answer()
    text, files = typed(_str(message, "text")), attached(message)
    said_before = typed(_str(before, "text"))
    if change == "message_changed" and not gone and (text == said_before or has_result(text)):
        # Slack itself changes a message when it unfolds a link; a result stays what it was when it was posted.
        return Answer()
    if not (
        files or has_result(text) or any(adds_evidence(one, by_author=True) for one in (text, said_before))
    ):
        return Answer()
    task = Task(
        kind="result",
        workspace=workspace,
        user=id_of(message.get("user") or before.get("user")),
        channel=channel,
        at=at,
        text="" if gone else storable(text),
        files=() if gone else files,
        files_shown=True,
        thread=thread,
        ts=ts[:_LONGEST_ID],
    )
    return Queue(task, id_, counts=True, if_shared=True)


def _inner(message: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = message.get(key)
    return found if isinstance(found, dict) else {}


def attached(message: Mapping[str, Any]) -> tuple[str, ...]:
    """Ids of the files attached to a message, at most three."""
    files = message.get("files")
    ids = [f.get("id") for f in files if isinstance(f, dict)] if isinstance(files, list) else []
    return tuple(id_ for id_ in ids if isinstance(id_, str) and id_.isalnum())[:3]


def workspace_of(team: Any, enterprise: Any, whole_enterprise: Any) -> str:
    """Under which id the app is installed. Raises `Unreadable` when there is none."""
    chosen = enterprise if whole_enterprise in (True, "true") else team
    chosen = chosen or team or enterprise
    if not isinstance(chosen, str) or not id_of(chosen):
        raise Unreadable
    return chosen


def id_of(value: Any) -> str:
    """An id of Slack's (a person, a channel); "" for what is none."""
    return value if isinstance(value, str) and value.isalnum() and len(value) <= _LONGEST_ID else ""


def reply_of(url: Any, seal: Seal, now: float) -> Reply | None:
    """The response URL as it may be stored."""
    # Sealed it has to fit a modal's 3,000 characters of metadata.
    fits = isinstance(url, str) and 0 < len(url) <= _LONGEST_URL
    return Reply(sealed=seal.seal(url), issued=now) if fits else None


def call_id(workspace: str, unique: str) -> str:
    """The delivery's id: the same for a call and for Slack's retries of it."""
    return f"slack:{workspace}:{hashlib.sha256(unique.encode()).hexdigest()[:32]}"


def _event_workspace(payload: Mapping[str, Any]) -> str:
    seen = payload.get("authorizations")
    first = seen[0] if isinstance(seen, list) and seen and isinstance(seen[0], dict) else {}
    whole = first.get("is_enterprise_install", False)
    return workspace_of(
        payload.get("team_id") or first.get("team_id"),
        payload.get("enterprise_id") or first.get("enterprise_id"),
        whole,
    )


def _bots_revoked(inner: Mapping[str, Any]) -> bool:
    tokens = inner.get("tokens")
    return isinstance(tokens, dict) and bool(tokens.get("bot"))


def _str(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
