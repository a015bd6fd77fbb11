"""Tools that show where each rank of a job stands that does not go on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading, sentence, versions_of
from knowledge.text.words import ranks_in_words

# PyTorch's flight recorder: what `torchfrtrace` prints of the collective that not all ranks joined.

FLIGHT_RECORDER_MARKS = ("Not all ranks joining collective", "missing_ranks", "Culprit rank")
_AHEAD = 14
_JOINING = re2.compile(
    r"Not all ranks joining collective(?:, sequence number:| for group \S+ collective)?\s*:?\s*(\S+)"
)
_MISSING = re2.compile(r"(?i)missing ranks(?: are)?:?\s*\{([\d, ]+)\}")
_NAME = re2.compile(r"^\W*collective: (?:\w+:)?(\w+)")
_EXPECTED = re2.compile(r"^\W*(?:world size|expected ranks): (\d+)\s*$")
_CULPRIT = re2.compile(r"Culprit rank (\d+); ([^,]{3,120})")
_LISTED = re2.compile(r'"missing_ranks"\s*:\s*\[([\d,\s]+)\]')
_SEQUENCE = re2.compile(r'"collective_seq_id"\s*:\s*(\d+)')
_CALLED = re2.compile(r'"(?:profiling_name|collective_name)"\s*:\s*"(?:\w+:)?(\w+)"')
_NAMES = ("profiling_name", "collective_name", "name")


def read_flight_recorder(lines: Sequence[Line]) -> ToolReading:
    """The ranks that never entered a collective, and ranks whose call does not match the others'."""
    facts: list[Fact] = []
    size = None
    for index, line in enumerate(lines):
        if (joining := _JOINING.search(line.text)) is not None:
            fact, expected = _of_text(lines[index : index + _AHEAD], joining.group(1))
            facts += [fact] if fact else []
            size = size or expected
        elif '"missing_ranks"' in line.text:
            facts += _of_json(line) or _of_pretty_json(lines, index)
        elif (culprit := _CULPRIT.search(line.text)) is not None:
            said = culprit.group(2).strip().rstrip(".")
            facts.append(
                Fact(line.number, f"Rank {culprit.group(1)} does not match the other ranks: {said}.")
            )
    return ToolReading(tuple(facts), world_size=size)


def _of_text(lines: Sequence[Line], number: str) -> tuple[Fact | None, int | None]:
    missing, name, size = None, None, None
    for line in lines:
        if (match := _MISSING.search(line.text)) is not None:
            missing = [int(rank) for rank in match.group(1).split(",") if rank.strip().isdigit()]
        elif (match := _NAME.match(line.text)) is not None:
            name = match.group(1)
        elif (match := _EXPECTED.match(line.text)) is not None:
            size = int(match.group(1))
    if not missing:
        return None, size
    return Fact(lines[0].number, _never_entered(missing, number if number.isdigit() else "", name)), size


def _never_entered(missing: Sequence[int], number: str, name: str | None) -> str:
    called = " ".join(part for part in ("collective", number, f"({name})" if name else "") if part)
    others = "the others did" if len(missing) > 1 else "all others did"
    return f"{sentence(ranks_in_words(missing))} never entered {called}; {others}."


def _of_json(line: Line) -> list[Fact]:
    """Summaries in JSON, one object or list of them on the line."""
    start = min((i for i in (line.text.find("{"), line.text.find("[")) if i >= 0), default=-1)
    if start < 0:
        return []
    try:
        found, _ = json.JSONDecoder().raw_decode(line.text[start:])
    except (json.JSONDecodeError, RecursionError):
        return []
    return [Fact(line.number, text) for text in _summaries(found)]


def _of_pretty_json(lines: Sequence[Line], index: int) -> list[Fact]:
    """A summary that is spread over lines: the ranks, and the number and name beside them."""
    around = "\n".join(line.text for line in lines[max(0, index - _AHEAD) : index + _AHEAD])
    ranks = _LISTED.search("\n".join(line.text for line in lines[index : index + 4 * _AHEAD]))
    if ranks is None:
        return []
    missing = [int(rank) for rank in ranks.group(1).split(",") if rank.strip()]
    number, name = _SEQUENCE.search(around), _CALLED.search(around)
    text = _never_entered(missing, number.group(1) if number else "", name.group(1) if name else None)
    return [Fact(lines[index].number, text)]


def _summaries(found: Any) -> list[str]:
    entries = found if isinstance(found, list) else found.get("collectives", [found])
    out = []
    for entry in entries if isinstance(entries, list) else []:
        missing = entry.get("missing_ranks") if isinstance(entry, dict) else None
        ranks = [rank for rank in missing if isinstance(rank, int)] if isinstance(missing, list) else []
        if ranks:
            name = next((str(entry[key]).rpartition(":")[2] for key in _NAMES if entry.get(key)), None)
            out.append(_never_entered(ranks, str(entry.get("collective_seq_id", "")), name))
    return out


# `py-spy dump` of several processes: which of them is elsewhere than the others.

PY_SPY_MARKS = ('"MainThread"',)
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


def read_py_spy(lines: Sequence[Line]) -> ToolReading:
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


# PyTorch's NCCL watchdog: how far each rank came before the timeout.

WATCHDOG_MARKS = ("last enqueued NCCL work: ", "last enqueued work: ")
_STATE = re2.compile(
    r"(?:(?:PG (?:ID )?(\S+) .{0,60}?)?[Rr]ank (\d+)\].{0,200})?last enqueued (?:NCCL )?work: (\d+), last completed (?:NCCL )?work: (\d+)"
)


def read_watchdog(lines: Sequence[Line]) -> ToolReading:
    """Ranks that enqueued fewer collectives than the others; nothing where one rank alone speaks."""
    groups: dict[str, dict[int, int]] = {}
    first: dict[str, int] = {}
    for line in lines:
        match = _STATE.search(line.text)
        rank = int(match.group(2)) if match and match.group(2) else line.rank
        if match and rank is not None:
            group = match.group(1) or line.group or ""
            first.setdefault(group, line.number)
            groups.setdefault(group, {}).setdefault(rank, int(match.group(3)))
    facts = []
    for group, enqueued in groups.items():
        if len(set(enqueued.values())) < 2:
            continue
        usual = (
            Counter(enqueued.values()).most_common(1)[0][0] if len(enqueued) > 2 else max(enqueued.values())
        )
        behind = [rank for rank, work in enqueued.items() if work < usual]
        if behind:
            last = max(enqueued[rank] for rank in behind)
            verb = "had" if len(behind) > 1 else "has"
            facts.append(
                Fact(
                    first[group],
                    f"{sentence(ranks_in_words(behind))} {verb} enqueued {last} collectives, the other ranks {usual}.",
                )
            )
    return ToolReading(tuple(facts))
