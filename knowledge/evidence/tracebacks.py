"""Python tracebacks of several processes in one log, however their lines are mixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import re2

from knowledge.evidence.lines import Kind, Line

Process = tuple[int | None, str | None, int | None]
"""Rank, host and process id, as far as a line tells them."""

_START = re2.compile(r"^\s*(?:Original )?Traceback \(most recent call")
_CHAIN = re2.compile(
    r"^\s*(?:During handling of the above exception|The above exception was the direct cause)"
)
_SPAWNED = re2.compile(r"^-- Process (\d+) terminated with the following error")
# "KeyError: 'x'", "my_package.DataStarved", "ray.exceptions.RayTaskError(KeyError): ..."
_RAISED = re2.compile(r"^[A-Za-z_][\w.<>]*(?:\([\w.]+\))?\s*(?::|$)")
MOST_FRAMES = 400
"""Lines above an exception in which its traceback is looked for."""
PASSED = 20
"""Lines of others that can stand inside a traceback without prefixes."""
_FRAME = re2.compile(r"^\s|^(?:-{2,}> ?)?\d{1,5}\s{2,}\S|^(?:\.\.\.|[~^ ]+$|\[Previous line repeated)")


@dataclass(slots=True)
class _Open:
    """What is known of one process while its lines pass."""

    bare: bool = False
    passed: int = 0
    open: bool = False
    chained: bool = False
    rank: int | None = None


@dataclass(slots=True)
class Tracebacks:
    """Line numbers of exceptions: `raised` ends a traceback, `chained` was raised because of an earlier one."""

    raised: set[int] = field(default_factory=set)
    chained: dict[int, int] = field(default_factory=dict)
    """Line of a later exception to the line of the one before it in the chain."""
    frames: set[int] = field(default_factory=set)
    ranks: dict[int, int] = field(default_factory=dict)
    """Ranks that the text around a traceback tells ("-- Process 3 terminated ...")."""


def process_of(line: Line) -> Process:
    """Whose line it is; a rank alone says enough."""
    return (line.rank, None, None) if line.rank is not None else (None, line.host, line.pid)


def find_tracebacks(lines: Sequence[Line]) -> Tracebacks:
    """Follow the tracebacks of every process through the lines of a report."""
    out = Tracebacks()
    states: dict[Process, _Open] = {}
    last: dict[Process, int] = {}
    for line in lines:
        text = line.text
        if line.kind in (Kind.BLANK, Kind.HEADING) or not text:
            continue
        process = process_of(line)
        state = states.get(process)
        if "raceback" in text and _START.match(text):
            state = states.setdefault(process, _Open())
            state.open, state.bare, state.passed = True, line.time is None, 0
        elif text[:3] in ("Dur", "The") and _CHAIN.match(text):
            states.setdefault(process, _Open()).chained = True
        elif text[:3] == "-- " and (spawned := _SPAWNED.match(text)):
            states.setdefault(process, _Open()).rank = int(spawned.group(1))
        elif state is not None and state.open:
            if _FRAME.match(text):
                out.frames.add(line.number)
            elif _RAISED.match(text) and not (state.bare and line.time is not None):
                _end(out, state, line, last.get(process))
                last[process] = line.number
            else:
                state.passed += 1
                state.open = state.passed < PASSED
    return out


def _end(out: Tracebacks, state: _Open, line: Line, before: int | None) -> None:
    out.raised.add(line.number)
    if state.chained and before is not None:
        out.chained[line.number] = before
    if state.rank is not None:
        out.ranks[line.number] = state.rank
    state.open = state.chained = False


def frames_above(lines: Sequence[Line], number: int) -> tuple[str, ...]:
    """The frames of the traceback that ends in line `number`, outermost first; none where it ends none.

    Only lines of that process count, and at most MOST_FRAMES of them.
    """
    at = next((index for index, line in enumerate(lines) if line.number == number), None)
    if at is None:
        return ()
    process = process_of(lines[at])
    frames: list[str] = []
    for line in reversed(lines[max(0, at - MOST_FRAMES) : at]):
        if process_of(line) != process:
            continue
        if "raceback" in line.text and _START.match(line.text):
            return tuple(reversed(frames))
        if line.text.lstrip().startswith("File "):
            frames.append(line.text.strip())
        elif _CHAIN.match(line.text):
            break
    return ()
