"""An issue's text with what was added below it: who said what, and which of it is part of the report. Pure.

The report is the opening post, and what its author or a maintainer added of substance. What others paste is
another reporter's: it can be another fault, and must not change what is said of this one. What a maintainer says
in passing ("fixed in 2.4") is advice and not the reporter's set-up, so of theirs only logs and listings count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import re2

from bot.github.commands import is_command
from bot.github.gists import gist_ids, with_gists
from bot.github.ports import Comment
from knowledge.diagnostics.result import FENCE

Role = Literal["author", "maintainer", "another reporter"]

ADDED = "[added]"
"""What is kept of a comment that adds something if it is its author's, where its text is read from GitHub later."""
ADDED_LOG = "[added a log]"
"""The same of one that adds something whoever wrote it."""
MANY_CHARS = 200
"""An author who writes more than this adds something, whatever it is."""
MOST_CHARS = 65_536
"""Of all comments together, the newest; as many as GitHub allows in the opening post."""
CORRECTION_CHARS = 600
"""A longer comment is no correction, whatever words it holds."""
LEAST_CHARS = 500
"""A comment of which less would be left by that limit is left out whole."""
_DELETED = "ghost"
"""GitHub's name for every deleted account: the same name is not the same person."""
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


_ANSWER = re2.compile(
    r"(?i)\b(?:torchrun|accelerate launch|deepspeed|horovodrun|mpirun|mpiexec|srun|sbatch|python[\d.]*)\b"
    r"[^\n]*(?:\s--?\w|\.py\b)"
    r"|\d\s?(?:it|iters?|samples?|img|images?|tokens?|steps?|examples?)\s?(?:/\s?s|per sec|a sec)"
    r"|\(active|most recent call first|\b(?:nightly|main branch|master|built from source)\b"
    r"|!\[[^\]]*\]\(|<img |github\.com/(?:user-attachments/|[\w.-]+/[\w.-]+/(?:files|assets)/\d)"
)
"""Short answers to what is asked for: a command, a speed, a stack, a build; and pictures and files, in case it is asked
for the text of them."""
_CORRECTS = re2.compile(
    r"(?i)\b(?:correction|sorry|mistake|my bad|typo|wrong|actually|i meant|instead of|should be"
    r"|mixed (?:it |that |this |them )?up)\b"
)


@dataclass(frozen=True, slots=True)
class Said:
    """What one comment adds."""

    role: Role
    text: str


def adds_something(text: str, by_author: bool) -> bool:
    """Whether a comment holds log lines or a listing of versions; quotes do not count.

    By the author also any code or version, what answers a request, or more than a few words.
    """
    own = unquoted(text)
    if own.strip() in (ADDED, ADDED_LOG):
        return by_author or own.strip() == ADDED_LOG
    lines = own.split("\n")
    logged = sum(map(_is_log, lines))
    fenced = any(_FENCE_LINE.match(line) for line in lines)
    if logged >= 2 or (fenced and logged) or gist_ids(own):
        return True
    if by_author:
        said = len(own.strip()) > MANY_CHARS or _VERSION.search(own) is not None
        return fenced or said or _ANSWER.search(own) is not None
    return sum(_VERSION.search(line) is not None for line in lines) >= 2


def has_log(text: str) -> bool:
    """Whether a text shows what a program printed: log lines, or a block of code of a few lines."""
    lines = unquoted(text).split("\n")
    logged = sum(map(_is_log, lines))
    fences = [number for number, line in enumerate(lines) if _FENCE_LINE.match(line)]
    blocks = zip(fences[::2], [*fences[1::2], len(lines)], strict=False)
    return logged >= 2 or any(end - start > 3 for start, end in blocks) or (logged > 0 and bool(fences))


def role_of(comment: Comment, author: str) -> Role:
    """Whose words a comment's are, as to this issue."""
    if comment.author == author and author != _DELETED:
        return "author"
    return "maintainer" if comment.association in _MAINTAINERS else "another reporter"


def said_below(comments: Sequence[Comment], author: str) -> list[Said]:
    """What the comments add, oldest first: without bots, commands and what adds nothing ("+1", thanks, questions)."""
    out = []
    for comment in comments:
        if comment.author_is_bot or is_command(comment.body):
            continue
        role = role_of(comment, author)
        if adds_something(comment.body, by_author=role == "author"):
            # A result counts by its command alone, which says whose it is.
            text = unquoted(comment.body).replace(FENCE, "```text").strip()
            out.append(Said(role, text))
    return out


def whole_text(body: str, said: Sequence[Said], gists: Mapping[str, str] | None = None) -> str:
    """The opening post and what its author and maintainers added, the newest `MOST_CHARS` of that.

    `gists`: text by id, put below the post or comment that links to it. Versions that the author corrected come
    first, where they win over those that the post states.
    """
    parts: list[str] = []
    room, known = MOST_CHARS, gists or {}
    counted = [one for one in said if one.role != "another reporter"]
    for one in reversed(counted):
        if room < LEAST_CHARS:
            break
        text = _both_ends(one.text, room)
        room -= len(text)
        parts.insert(0, with_gists(f"{_HEADINGS[one.role]}\n\n{_closed(text)}", known))
    opening = with_gists(_closed(body) if parts or gist_ids(body) else body, known)
    return "\n\n".join([*_corrections(counted), opening, *parts])


def _corrections(said: Sequence[Said]) -> Iterator[str]:
    """What the author says the versions really are, one line each."""
    # Here alone: the web process, which only looks whether a comment adds something, does without it.
    from knowledge.evidence.lines import Kind, Line, clean_text, split_lines
    from knowledge.evidence.versions_found import find_versions

    found: dict[str, str] = {}
    for one in said:
        if one.role == "author" and len(one.text) <= CORRECTION_CHARS and _CORRECTS.search(one.text):
            lines = enumerate(split_lines(clean_text(one.text)), 1)
            read = find_versions("", [Line(number, text, Kind.PROSE) for number, text in lines])
            found |= {component: version.text for component, version in read.items()}
    if found:
        stated = [f"{component} {version}" for component, version in found.items()]
        yield "\n".join(["### Corrected by the author", "", *stated])


def _both_ends(text: str, room: int) -> str:
    """The text, of a longer one its beginning and its end: they say what began and what failed."""
    if len(text) <= room:
        return text
    first = room // 4
    return f"{text[:first]}\n{text[first - room :]}"


def _is_log(line: str) -> bool:
    return _LOG_LINE.search(line) is not None


def unquoted(text: str) -> str:
    """Without the lines that quote somebody: answers by mail repeat what they answer, our own comment, too.

    A prompt in a block of code is no quote.
    """
    kept, fenced = [], False
    for line in text.split("\n"):
        fenced ^= _FENCE_LINE.match(line) is not None
        if fenced or not line.startswith(">"):
            kept.append(line)
    return "\n".join(kept)


def _closed(text: str) -> str:
    """The text with a code block that its author left open closed, so that what follows is not part of it."""
    fences = [found.group(1) for line in text.split("\n") if (found := _FENCE_LINE.match(line))]
    return f"{text}\n{fences[-1]}" if len(fences) % 2 else text
