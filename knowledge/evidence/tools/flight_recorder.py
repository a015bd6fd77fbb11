"""PyTorch's flight recorder: what `torchfrtrace` prints of the collective that not all ranks joined."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading, ranks_in_words, sentence

MARKS = ("Not all ranks joining collective", "missing_ranks", "Culprit rank")
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


def read(lines: Sequence[Line]) -> ToolReading:
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
