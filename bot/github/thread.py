"""An issue's text with what was added below it: who said what, and which of it is part of the report. Pure.

The report is the opening post, and what its author or a maintainer added of substance. What others paste is
another reporter's: it can be another fault, and must not change what is said of this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import re2

from bot.github.commands import is_command
from bot.github.ports import Comment
from knowledge.diagnostics.result import FENCE

Role = Literal["author", "maintainer", "another reporter"]

ADDED = "[added]"
"""What is kept of a comment that adds something, where its text is read from GitHub later."""
MANY_CHARS = 200
"""An author who writes more than this adds something, whatever it is."""
MOST_CHARS = 65_536
"""Of all comments together, the newest; as many as GitHub allows in the opening post."""
_MAINTAINERS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
_HEADINGS: dict[Role, str] = {
    "author": "### Added by the author",
    "maintainer": "### Added by a maintainer",
    "another reporter": "### From another reporter",
}
_FENCE_LINE = re2.compile(r"^ {0,3}(```|~~~)")
_LOG_LINE = re2.compile(
    r"(?i)^\s*(\[?\d{4}-\d{2}-\d{2}|\d{2}:\d{2}:\d{2}|traceback \(|file \".{1,300}\", line \d|\[?rank ?\d+\]?[ :]"
    r"|[\w.]{1,100}(error|exception)\b|[\w.-]{1,64}:\d+:\d+ \[\d+\]|(error|fatal|warning|info)[ :])"
)
_VERSION = re2.compile(
    r"(?i)\b(py ?torch|torch|cuda|cudnn|nccl|python|tensorflow|keras|horovod|deepspeed|megatron|colossal-?ai|lightning|"
    r"mxnet|ray|driver|ubuntu|open ?mpi|gcc|cmake|rocm|jax|transformers|accelerate)\b[^\n]{0,24}\b\d+\.\d+"
)


@dataclass(frozen=True, slots=True)
class Said:
    """What one comment adds."""

    role: Role
    text: str


def adds_something(text: str, by_author: bool) -> bool:
    """Whether a comment holds log lines, versions, or (by the author) more than a few words; quotes do not count."""
    own = _unquoted(text)
    if own.strip() == ADDED:
        return True
    lines = own.split("\n")
    logged = any(_FENCE_LINE.match(line) for line in lines) or sum(map(_is_log, lines)) >= 2
    return logged or _VERSION.search(own) is not None or (by_author and len(own.strip()) > MANY_CHARS)


def said_below(comments: Sequence[Comment], author: str) -> list[Said]:
    """What the comments add, oldest first: without bots, commands and what adds nothing ("+1", thanks, questions)."""
    out = []
    for comment in comments:
        if comment.author_is_bot or is_command(comment.body):
            continue
        role: Role = (
            "author"
            if comment.author == author
            else "maintainer"
            if comment.association in _MAINTAINERS
            else "another reporter"
        )
        if adds_something(comment.body, by_author=role == "author"):
            # A result counts by its command alone, which says whose it is.
            text = _unquoted(comment.body).replace(FENCE, "```text").strip()
            out.append(Said(role, text))
    return out


def whole_text(body: str, said: Sequence[Said]) -> str:
    """The opening post and what its author and maintainers added, the newest `MOST_CHARS` of that."""
    parts: list[str] = []
    room = MOST_CHARS
    for one in reversed([one for one in said if one.role != "another reporter"]):
        part = f"{_HEADINGS[one.role]}\n\n{_closed(one.text)}"
        if len(part) > room:
            break
        room -= len(part)
        parts.insert(0, part)
    return "\n\n".join([_closed(body), *parts]) if parts else body


def _is_log(line: str) -> bool:
    return _LOG_LINE.search(line) is not None


def _unquoted(text: str) -> str:
    """Without the lines that quote somebody: answers by mail repeat what they answer, our own comment, too."""
    return "\n".join(line for line in text.split("\n") if not line.startswith(">"))


def _closed(text: str) -> str:
    """The text with a code block that its author left open closed, so that what follows is not part of it."""
    fences = [found.group(1) for line in text.split("\n") if (found := _FENCE_LINE.match(line))]
    return f"{text}\n{fences[-1]}" if len(fences) % 2 else text
