"""NCCL's own tools: its view of a running job, and its tests of bandwidth and results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading, sentence, versions_of
from knowledge.text.words import ranks_in_words

# `ncclras`: NCCL's own view of a running job, as text and as JSON.

NCCL_RAS_MARKS = (
    "have launched up to operation",
    "has launched up to operation",
    "missing_ranks_count",
    "Job summary",
)
_COUNTS = re2.compile(r"ranks have different (\w+) operation counts")
_MANY = re2.compile(r"^\s*(\d+) ranks have (?:launched up to operation (\d+)|not launched any operations)")
_ONE = re2.compile(r"^\s*Rank (\d+) has (?:launched up to operation (\d+)|not launched any operations)")
_PLAIN = re2.compile(r"^\s*Rank (\d+) -- ")
_INCOMPLETE = re2.compile(r"^#\d+-\d+ \([0-9a-f]+\) INCOMPLETE")
_DEAD = re2.compile(r"^\s*Process (\d+) on node (\S+) managing")
_MOST_JSON = 4000


def read_nccl_ras(lines: Sequence[Line]) -> ToolReading:
    """Ranks behind or ahead of the others, ranks whose data is missing, processes that are dead."""
    facts = [*_behind(lines), *_missing(lines), *_dead(lines)]
    found = _json(lines)
    if found is None:
        return ToolReading(tuple(facts))
    number, job = found
    return ToolReading(
        tuple(facts) + tuple(Fact(number, text) for text in _of_json(job)),
        versions_of([("nccl", str(job.get("nccl_version", "")))]),
    )


def _behind(lines: Sequence[Line]) -> Iterator[Fact]:
    """Under one heading: how far most ranks are, then the ranks that are elsewhere."""
    for index, line in enumerate(lines):
        heading = _COUNTS.search(line.text)
        if heading is None:
            continue
        most: tuple[int, int] | None = None
        odd: dict[int, list[int]] = {}
        current: int | None = None
        for below in lines[index + 1 : index + 80]:
            if (many := _MANY.match(below.text)) is not None:
                count, current = int(many.group(1)), int(many.group(2) or 0)
                if most is None or count > most[0]:
                    most = (count, current)
            elif (one := _ONE.match(below.text)) is not None:
                odd.setdefault(int(one.group(2) or 0), []).append(int(one.group(1)))
            elif (plain := _PLAIN.match(below.text)) is not None and current is not None:
                odd.setdefault(current, []).append(int(plain.group(1)))
            else:
                break
        if most:
            yield from _compare(line.number, heading.group(1), most, odd)


def _compare(number: int, name: str, most: tuple[int, int], odd: dict[int, list[int]]) -> Iterator[Fact]:
    for operation, ranks in odd.items():
        if operation != most[1]:
            verb = "has" if len(ranks) == 1 else "have"
            at = f"launched {name} {operation}" if operation else f"launched no {name}"
            yield Fact(
                number, f"{sentence(ranks_in_words(ranks))} {verb} {at}; {most[0]} ranks are at {most[1]}."
            )


def _missing(lines: Sequence[Line]) -> Iterator[Fact]:
    for index, line in enumerate(lines):
        if _INCOMPLETE.match(line.text):
            ranks = [
                int(match.group(1))
                for below in lines[index + 1 : index + 40]
                if (match := _PLAIN.match(below.text)) is not None
            ]
            if ranks:
                yield Fact(line.number, f"NCCL gets no answer from {ranks_in_words(ranks)}.")


def _dead(lines: Sequence[Line]) -> Iterator[Fact]:
    for index, line in enumerate(lines):
        if line.text.strip() == "DEAD":
            for below in lines[index + 1 : index + 8]:
                if (match := _DEAD.match(below.text)) is not None:
                    yield Fact(
                        line.number, f"NCCL considers process {match.group(1)} on {match.group(2)} dead."
                    )


def _json(lines: Sequence[Line]) -> tuple[int, dict[str, Any]] | None:
    """The first JSON object that ncclras printed, with the line that it starts on."""
    for index, line in enumerate(lines):
        if '"nccl_version"' in line.text:
            start = index if "{" in line.text else index - 1
            text = "\n".join(below.text for below in lines[max(0, start) : start + _MOST_JSON])
            try:
                job, _ = json.JSONDecoder().raw_decode(text[text.index("{") :])
            except (ValueError, RecursionError):
                return None
            return (lines[max(0, start)].number, job) if isinstance(job, dict) else None
    return None


def _of_json(job: dict[str, Any]) -> Iterator[str]:
    for communicator in job.get("communicators", []):
        if not isinstance(communicator, dict):
            continue
        missing = [r["rank"] for r in communicator.get("missing_ranks", []) if isinstance(r.get("rank"), int)]
        if missing:
            yield f"NCCL gets no answer from {ranks_in_words(missing)}."
        counts: dict[str, dict[int, int]] = {}
        for rank in communicator.get("ranks", []):
            for name, count in rank.get("collective_counts", {}).items():
                counts.setdefault(name, {})[rank["rank"]] = count
        for name, of in counts.items():
            usual, share = Counter(of.values()).most_common(1)[0]
            odd = [rank for rank, count in of.items() if count != usual]
            if odd and share > len(of) / 2:
                verb = "has" if len(odd) == 1 else "have"
                at = of[odd[0]] if len({of[rank] for rank in odd}) == 1 else "another count"
                yield f"{sentence(ranks_in_words(odd))} {verb} launched {name} {at}; {share} ranks are at {usual}."


# nccl-tests: bandwidth and wrong results.

NCCL_TESTS_MARKS = ("# Avg bus bandwidth", "# Out of bounds values")
_BANDWIDTH = re2.compile(r"^\s*# Avg bus bandwidth\s*:\s*([\d.]+)")
_WRONG = re2.compile(r"^\s*# Out of bounds values\s*:\s*(\d+) FAILED")
_RANK = re2.compile(r"^\s*#\s+Rank\s+(\d+) ")


def read_nccl_tests(lines: Sequence[Line]) -> ToolReading:
    """The average bus bandwidth, and whether results were wrong."""
    facts: list[Fact] = []
    ranks: set[int] = set()
    for line in lines:
        if (match := _RANK.match(line.text)) is not None:
            ranks.add(int(match.group(1)))
        elif (match := _WRONG.match(line.text)) is not None:
            facts.append(
                Fact(
                    line.number,
                    f"nccl-tests got {match.group(1)} wrong values: data was corrupted in transit.",
                )
            )
        elif (match := _BANDWIDTH.match(line.text)) is not None:
            over = f" over {len(ranks)} ranks" if ranks else ""
            facts.append(
                Fact(line.number, f"nccl-tests measured {match.group(1)} GB/s of bus bandwidth{over}.")
            )
    return ToolReading(tuple(facts[:2]), world_size=len(ranks) or None)
