"""`py-spy dump` of several processes: which of them is elsewhere than the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading, ranks_in_words, sentence, versions_of

MARKS = ('"MainThread"',)
_PROCESS = re2.compile(r"^\s*Process (\d+): (.*)$")
_PYTHON = re2.compile(r"^\s*Python v(\d+\.\d+\.\d+)")
_THREAD = re2.compile(r'^\s*Thread .*\((?:active|idle)[^)]*\)(?:: "([^"]*)")?')
_FRAME = re2.compile(r"^\s+(\S.*?) \(([^()]+):(\d+)\)\s*$")
_RANK = re2.compile(r"(?i)(?:--(?:local[_-])?rank[= ]|\bRANK=|\brank[ =:]*)(\d{1,5})\b")
_LIBRARY = re2.compile(
    r"(?:^|/)(?:torch|threading|multiprocessing|concurrent|selectors|lib/python\S*|site-packages)\b"
)
_MOST_FRAMES = 200


@dataclass(slots=True)
class _Process:
    line: int
    rank: int | None
    python: str | None = None
    frames: tuple[tuple[str, str], ...] = ()


def read(lines: Sequence[Line]) -> ToolReading:
    """One sentence where a minority of the processes is in another function than the rest."""
    processes = [process for process in _processes(lines) if process.frames]
    versions = versions_of(("python", p.python) for p in processes if p.python)
    if len(processes) < 2:
        return ToolReading(versions=versions)
    where = [_where(process) for process in processes]
    usual, share = Counter(where).most_common(1)[0]
    odd = [(p, w) for p, w in zip(processes, where, strict=True) if w != usual]
    if not odd or len(odd) > share or len({w for _, w in odd}) > 2:
        return ToolReading(versions=versions)
    facts = []
    for place in dict.fromkeys(w for _, w in odd):
        there = [p for p, w in odd if w == place]
        rest = f"the other {share} are" if share > 1 else "the other is"
        verb = "is" if len(there) == 1 else "are"
        facts.append(Fact(there[0].line, f"{sentence(_named(there))} {verb} in {place}; {rest} in {usual}."))
    return ToolReading(tuple(facts), versions, None)


def _processes(lines: Sequence[Line]) -> Iterator[_Process]:
    current: _Process | None = None
    for index, line in enumerate(lines):
        match = _PROCESS.match(line.text)
        if match:
            if current:
                yield current
            current = _Process(line.number, _rank(lines, index, match.group(2)))
        elif current is None:
            continue
        elif (python := _PYTHON.match(line.text)) is not None:
            current.python = python.group(1)
        elif (thread := _THREAD.match(line.text)) is not None and _is_main(thread) and not current.frames:
            current.frames = tuple(_frames(lines[index + 1 : index + _MOST_FRAMES]))
    if current:
        yield current


def _is_main(thread: re2._Match) -> bool:
    return thread.group(1) in ("MainThread", None)


def _rank(lines: Sequence[Line], index: int, command: str) -> int | None:
    """The rank in the command, in the line's prefix, or in the heading above."""
    if lines[index].rank is not None:
        return lines[index].rank
    for text in (command, *(line.text for line in reversed(lines[max(0, index - 3) : index]))):
        if (match := _RANK.search(text)) is not None:
            return int(match.group(1))
    return None


def _frames(lines: Sequence[Line]) -> Iterator[tuple[str, str]]:
    for line in lines:
        match = _FRAME.match(line.text)
        if not match:
            return
        yield (
            match.group(1),
            f"{match.group(2).rpartition('/')[2]}:{match.group(3)}"
            if not _LIBRARY.search(match.group(2))
            else "",
        )


def _where(process: _Process) -> str:
    """The innermost call, and the line of their own code that it came from."""
    innermost = process.frames[0][0]
    own = next((place for _, place in process.frames if place), "")
    return f"`{innermost}`" + (f" ({own})" if own else "")


def _named(processes: Sequence[_Process]) -> str:
    ranks = [p.rank for p in processes if p.rank is not None]
    if len(ranks) == len(processes):
        return ranks_in_words(ranks)
    return "one process" if len(processes) == 1 else f"{len(processes)} processes"
