"""Reading the files of a task: those the person may see, where the token may, of a long one both ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.slack.api import Downloaded
from bot.slack.incoming_text import storable
from bot.slack.ports import SlackPorts
from bot.slack.records import Refused, Task

EACH_END = 1_000_000
"""Bytes kept of either end of a file that is longer than both together."""
MARGIN = 65_536
"""Redacted beside what is kept, so that no half of a secret stays at the cut."""

_WHY = {
    "missing_scope": "the app is missing the scope files:read",
    "file_not_found": "Slack does not let the app see it; add the app to its conversation",
    "not_visible": "it is not shared in this conversation",
    "no_text": "it is not text",
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
            why = _WHY.get(error.code, "Slack does not release it")
            notes.append(f"File {place} was not read: {why}.")
            continue
        texts.append(text)
        if cut:
            notes.append(f"Only the first and last {EACH_END // 10**6} MB of file {place} were read.")
    return ReadFiles("\n\n".join(texts), tuple(notes))


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
    found = ports.api.download(token, url, EACH_END + MARGIN)
    if b"\0" in found.head[:4096]:
        raise Refused("no_text")
    return redacted(found), found.cut


def redacted(found: Downloaded) -> str:
    """The file's text without secrets; of a long one both ends, the middle left out."""
    if not found.cut:
        return storable((found.head + found.tail).decode("utf-8", "replace"))
    head = storable(found.head.decode("utf-8", "replace"))[:EACH_END]
    tail = storable(found.tail.decode("utf-8", "replace"))[-EACH_END:]
    return f"{head}\n{tail}"
