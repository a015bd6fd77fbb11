"""Reading the files of a task: those the person may see, where the token may, and never more than a bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.slack.errors import Refused
from bot.slack.incoming_text import storable
from bot.slack.ports import SlackPorts
from bot.slack.task import Task

LARGEST = 2_000_000
"""Bytes read of one file; of a longer one its beginning."""

_WHY = {
    "missing_scope": "the app lacks the scope files:read",
    "file_not_found": "Slack does not show it to the app; add the app to the conversation it is in",
    "not_visible": "it is not shared in this conversation",
    "no_text": "it is no text",
    "no_token": "the app has no token in this workspace",
}


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """The redacted text of the files, and why some could not be read."""

    text: str
    notes: tuple[str, ...]


def read_files(task: Task, ports: SlackPorts) -> ReadFiles:
    """Read the task's files. Raises `Unreachable` and `TryLater` when it has to run again."""
    texts, notes = [], []
    token = ports.tokens.token(task.workspace) if task.files else None
    for place, file_id in enumerate(task.files, 1):
        try:
            if token is None:
                raise Refused("no_token")
            text, cut = _read(file_id, task, ports, token)
        except Refused as error:
            why = _WHY.get(error.code, "Slack does not give it")
            notes.append(f"File {place} was not read: {why}.")
            continue
        texts.append(text)
        if cut:
            notes.append(f"Of file {place} only the first {LARGEST // 10**6} MB were read.")
    return ReadFiles(storable("\n\n".join(texts)), tuple(notes))


def may_see(file: Mapping[str, Any], task: Task) -> bool:
    """Whether the asker may see a file that is only linked: the app sees more than each person does."""
    if task.files_shown or file.get("is_public") is True or file.get("user") == task.user:
        return True
    places = [file.get(kind) or [] for kind in ("channels", "groups", "ims")]
    return bool(task.channel) and any(task.channel in place for place in places if isinstance(place, list))


def _read(file_id: str, task: Task, ports: SlackPorts, token: str) -> tuple[str, bool]:
    file = ports.api.file(token, file_id)
    if not may_see(file, task):
        raise Refused("not_visible")
    url = file.get("url_private_download") or file.get("url_private")
    if not isinstance(url, str):
        raise Refused("no_text")
    data = ports.api.download(token, url, LARGEST + 1)
    if b"\0" in data[:4096]:
        raise Refused("no_text")
    return data[:LARGEST].decode("utf-8", "replace"), len(data) > LARGEST
