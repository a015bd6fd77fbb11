"""An issue's text with what was added below it, and which of that is part of the report. Pure.

The report is the opening post, and what its author or a maintainer added of substance. What others paste is
another reporter's: it can be another fault, and must not change what is said of this one. What a maintainer says
in passing ("fixed in 2.4") is advice and not the reporter's set-up, so of theirs only logs and listings count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import re2

from bot.github.ports import MAINTAINERS, MAY_WRITE, Comment, Permission
from bot.reports.additions import FENCE_LINE, adds_evidence, both_ends, unquoted
from knowledge.report import FENCE
from knowledge.triage import AxisName

# Commands in comments: the first line says `/triage ...`, everything else in it is somebody's text.
#
# Pure: what a comment asks for, and whether the one who asks may.

Word = Literal["again", "explain", "dismiss", "result", "post", "off", "on", "correct", "same", "different"]
_AUTHOR_MAY: frozenset[Word] = frozenset({"explain", "dismiss", "result", "same", "different"})
_MAX_RESULT = 65_536


@dataclass(frozen=True, slots=True)
class Command:
    """What is asked; `labels` of a correction, `text` of a result; of "same" the number of the other issue."""

    word: Word
    labels: tuple[tuple[AxisName, tuple[str, ...]], ...] = ()
    text: str = ""

    @property
    def digest(self) -> str:
        """The identity of what is asked: an edit that leaves it as it was asks nothing new."""
        return hashlib.sha256(repr(self).encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class Malformed:
    """A command that cannot be read; `reason` is a word."""

    reason: str


def is_command(body: str) -> bool:
    """Whether a comment's first line is a command: "/triage", alone or followed by a blank."""
    first = body.lstrip().split("\n", 1)[0].split()
    return bool(first) and first[0] == "/triage"


def parse_command(body: str, ids: Callable[[AxisName], frozenset[str]]) -> Command | Malformed | None:
    """The command of a comment; None when it is none. Ids are matched without regard to case."""
    first, _, rest = body.lstrip().partition("\n")
    words = first.split()
    if not words or words[0] != "/triage":
        return None
    args = words[1:]
    if not args:
        return Command("again")
    if args[0] == "result":
        text = rest.strip()[:_MAX_RESULT]
        return Command("result", text=text) if text else Malformed("empty_result")
    if len(args) == 1 and args[0] in {"explain", "dismiss", "post", "off", "on"}:
        return Command(args[0])  # type: ignore[arg-type]
    if args[0] in {"same", "different"}:
        number = args[1].removeprefix("#") if len(args) == 2 else ""
        if not (number.isascii() and number.isdecimal() and len(number) < 10):
            return Malformed("no_number")
        return Command(args[0], text=number)  # type: ignore[arg-type]
    return _correction(args, ids)


def _correction(args: list[str], ids: Callable[[AxisName], frozenset[str]]) -> Command | Malformed:
    labels: dict[AxisName, tuple[str, ...]] = {}
    for arg in args[:10]:
        axis, equals, values = arg.partition("=")
        if not equals or axis not in get_args(AxisName) or axis in labels:
            return Malformed("unknown_word")
        name: AxisName = axis  # type: ignore[assignment]
        known = {id_.casefold(): id_ for id_ in ids(name)}
        given = [known.get(value.casefold()) for value in values.split(",")[:10]]
        found = tuple(id_ for id_ in given if id_ is not None)
        if len(found) != len(given):
            return Malformed("unknown_id")
        labels[name] = found
    return Command("correct", labels=tuple(labels.items()))


def may(command: Command, permission: Permission, is_author: bool) -> bool:
    """Maintainers (write permission) may all; its author may explain, dismiss, give a result and vote."""
    return permission in MAY_WRITE or (is_author and command.word in _AUTHOR_MAY)


# Gists that a report or a comment links to: their ids, and their text below the words that link to them. Pure.
#
# GitHub's API gives a public gist to any token. It gives an App no attachment of an issue: those of a private
# repository need a person's session in a browser, and the others are a redirect to another host, which is not
# followed.

MOST_GISTS = 3
"""Of one issue, in the order in which they are linked."""
GIST_CHARS = 262_144
"""Kept of one gist, both ends; a log that is longer repeats itself in the middle."""
_LINK = re2.compile(r"https://gist\.github\.com/(?:[A-Za-z0-9-]{1,40}/)?([0-9a-f]{20,40})\b")
_TICKS = re2.compile("`{3,}")


def gist_ids(text: str) -> list[str]:
    """Ids of the gists that a text links to, in its order."""
    return list(dict.fromkeys(map(str, _LINK.findall(text))))


def text_of(files: Sequence[tuple[str, str]]) -> str:
    """The text of a gist's files (name, content), each in a block of code of its own; of a long one both ends."""
    shown = []
    room = GIST_CHARS
    for name, content in files:
        if not content.strip() or "\0" in content or room <= 0:
            continue
        # A result counts by its command alone, which says whose it is.
        kept = both_ends(content.replace(FENCE, "```text"), room)
        room -= len(kept)
        fence = "`" * max([3, *(len(run) + 1 for run in _TICKS.findall(kept))])
        shown.append(f"{' '.join(name.split())[:80]}\n\n{fence}text\n{kept.rstrip()}\n{fence}")
    return "\n\n".join(shown)


def with_gists(text: str, gists: Mapping[str, str]) -> str:
    """The text with those gists that it links to below it."""
    return "\n\n".join([text, *(f"#### Gist\n\n{gists[id_]}" for id_ in gist_ids(text) if gists.get(id_))])


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
