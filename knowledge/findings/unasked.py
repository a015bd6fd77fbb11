"""Why a known failure that surely matches is still not said unasked: it would not help this reporter."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

import re2

from knowledge.evidence import Reading
from knowledge.evidence.decisive import Decisive
from knowledge.evidence.lines import Kind, Line
from knowledge.evidence.stamps import read_stamp, seconds_between
from knowledge.findings.defect import is_the_librarys, names_the_fix, of_code
from knowledge.findings.expert import knows_better
from knowledge.findings.failure import Failure
from knowledge.findings.fitting import Fitted
from knowledge.findings.matcher import Match
from knowledge.findings.pairs import about_another
from knowledge.findings.releases import has_release
from knowledge.findings.tried import tried_already

Objection = Literal["expert", "framework", "release", "tried", "defect", "consequence", "denied", "solved"]
"""expert: a regression, or diagnosed already; framework: the entry is about others; release: the advice is of another
time or tool; tried: in the report already; defect: inside the tracker's own library; consequence: rests on a warning
alone; denied: the author says that it isn't so; solved: the reporter's release has the fix."""

_QUIET = frozenset("DIW")
"""Levels of lines that report no failure."""
_FILE = Path(__file__).with_name("consequences.toml")
# "dmesg does not say that the GPU has fallen off the bus"; a message itself may begin with "no" or "cannot".
_DENIES = re2.compile(
    r"(?i)\b(?:no|not|never|without|neither|nor|(?:does|did|is|was|do|has|have)n[o']?t)\b[^.:;\"'`]{0,60}$"
)
# Kubernetes calls each event that is not routine a warning: type, reason, age and source in columns.
_EVENT = re2.compile(r"^\s*(?:\d+[smhd]\w*\s+)?Warning\s{2,}[A-Z][A-Za-z]+\s{2,}")


def objection(match: Match, fitted: Fitted, reading: Reading) -> Objection | None:
    """What speaks against saying a match unasked, however sure it is; None = nothing."""
    entry = match.failure
    if knows_better(reading):
        return "expert"
    if of_code(entry) and about_another(entry, reading):
        return "framework"
    if not fitted.whole:
        return "release"
    if rests_on_consequences(match.lines, reading):
        return "consequence"
    if denied(entry, match.lines, reading):
        return "denied"
    if solved(entry, reading):
        return "solved"
    if is_the_librarys(entry, reading) and not names_the_fix(entry, reading):
        return "defect"
    if tried_already(fitted.entry, reading):
        return "tried"
    return None


def solved(entry: Failure, reading: Reading) -> bool:
    """Whether the reporter's release already has the fix that the entry names."""
    return bool(entry.fixed_in) and has_release(entry.fixed_in, reading)


def denied(entry: Failure, numbers: tuple[int, ...], reading: Reading) -> bool:
    """Whether each telltale line is a sentence that says "no" or "not" just before what tells."""
    by_number = {line.number: line for line in reading.lines}

    def says_no(number: int) -> bool:
        line = by_number.get(number)
        if number and (line is None or line.kind is Kind.LOG):
            return False
        text = line.text if number and line else reading.report.title
        found = [hit for pattern in entry.patterns if (hit := re2.compile(pattern).search(text))]
        return bool(found) and all(_DENIES.search(text[: hit.start()]) for hit in found)

    return bool(numbers) and all(map(says_no, numbers))


def rests_on_consequences(numbers: tuple[int, ...], reading: Reading) -> bool:
    """Whether each telltale line is code, a warning, or of a log whose failure is another line, or began with one."""
    by_number = {line.number: line for line in reading.lines}
    found = [d for d in reading.decisive if d.role == "root" and not d.in_title]
    roots = {d.number for d in found if not _followed(d, found[0])}
    logged = {n for n in roots if n in by_number and by_number[n].kind is Kind.LOG}

    def stands(number: int) -> bool:
        if number == 0:
            return not _consequences().search(reading.report.title)
        line = by_number.get(number)
        if line is None or line.kind is Kind.CODE or _warns(line):
            return False
        return line.kind is not Kind.LOG or not logged or number in logged

    return bool(numbers) and not any(map(stands, numbers))


def _followed(one: Decisive, first: Decisive) -> bool:
    """Whether another process had failed at least a second before."""
    earlier, later = read_stamp(first.time or ""), read_stamp(one.time or "")
    if earlier is None or later is None or one.rank == first.rank:
        return False
    return seconds_between(earlier, later) >= 1


def _warns(line: Line) -> bool:
    event = _EVENT.match(line.text)
    text = line.text[event.end() :] if event else line.text
    return (line.level in _QUIET and not event) or bool(_consequences().search(text))


@cache
def _consequences() -> re2._Regexp:
    return re2.compile("(?i)" + "|".join(tomllib.loads(_FILE.read_text("utf-8"))["any"]))
