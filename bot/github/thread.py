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
from bot.github.ports import MAINTAINERS, Comment
from bot.reports.additions import FENCE_LINE, adds_evidence, both_ends, unquoted
from knowledge.diagnostics.result import FENCE

Role = Literal["author", "maintainer", "another reporter"]

ADDED = "[added]"
"""What is kept of a comment that adds something if it is its author's, where its text is read from GitHub later."""
ADDED_LOG = "[added a log]"
"""The same of one that adds something whoever wrote it."""
MOST_CHARS = 65_536
"""Of all comments together, the newest; as many as GitHub allows in the opening post."""
CORRECTION_CHARS = 600
"""A longer comment is no correction, whatever words it holds."""
LEAST_CHARS = 500
"""A comment of which less would be left by that limit is left out whole."""
_DELETED = "ghost"
"""GitHub's name for every deleted account: the same name is not the same person."""
_HEADINGS: dict[Role, str] = {
    "author": "### Added by the author",
    "maintainer": "### Added by a maintainer",
    "another reporter": "### From another reporter",
}
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
    """Whether a comment is part of the report; quotes do not count."""
    kept = unquoted(text).strip()
    if kept in (ADDED, ADDED_LOG):
        return by_author or kept == ADDED_LOG
    return bool(gist_ids(unquoted(text))) or adds_evidence(text, by_author)


def role_of(comment: Comment, author: str) -> Role:
    """Whose words a comment's are, as to this issue."""
    if comment.author == author and author != _DELETED:
        return "author"
    return "maintainer" if comment.association in MAINTAINERS else "another reporter"


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

    `gists`: text by id, put below the post or comment that links to it first. Versions that the author corrected come
    first, where they win over those that the post states.
    """
    parts: list[str] = []
    room, left = MOST_CHARS, dict(gists or {})
    counted = [one for one in said if one.role != "another reporter"]
    for one in reversed(counted):
        if room < LEAST_CHARS:
            break
        text = both_ends(one.text, room)
        room -= len(text)
        parts.insert(0, f"{_HEADINGS[one.role]}\n\n{_closed(text)}")
    opening = _closed(body) if parts or gist_ids(body) else body
    shown = []
    for part in [opening, *parts]:
        shown.append(with_gists(part, left))
        left = {id_: text for id_, text in left.items() if id_ not in gist_ids(part)}
    return "\n\n".join([*_corrections(counted), *shown])


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


def _closed(text: str) -> str:
    """The text with a code block that its author left open closed, so that what follows is not part of it."""
    fences = [found.group(1) for line in text.split("\n") if (found := FENCE_LINE.match(line))]
    return f"{text}\n{fences[-1]}" if len(fences) % 2 else text
