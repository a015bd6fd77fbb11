"""Commands in comments: the first line says `/triage ...`, everything else in it is somebody's text.

Pure: what a comment asks for, and whether the one who asks may.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from bot.github.ports import MAY_WRITE, Permission
from knowledge.triage import AxisName

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
