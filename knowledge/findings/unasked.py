"""Why a known failure that surely matches is still not said unasked: it would not help this reporter."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

import re2

from knowledge.evidence import Reading
from knowledge.evidence.lines import Kind
from knowledge.findings.defect import is_the_librarys, names_the_fix, of_code
from knowledge.findings.expert import knows_better
from knowledge.findings.failure import Failure
from knowledge.findings.fitting import Fitted
from knowledge.findings.matcher import Match
from knowledge.findings.pairs import about_another
from knowledge.findings.releases import has_release
from knowledge.findings.tried import tried_already

Objection = Literal["expert", "framework", "release", "tried", "defect", "consequence", "solved"]
"""expert: a regression, or diagnosed already; framework: the entry is about others; release: the advice is of another
time or tool; tried: in the report already; defect: inside the tracker's own library; consequence: rests on a warning
alone; solved: the reporter's release has the fix."""

_QUIET = frozenset("DIW")
"""Levels of lines that report no failure."""
_FILE = Path(__file__).with_name("consequences.toml")


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


def rests_on_consequences(numbers: tuple[int, ...], reading: Reading) -> bool:
    """Whether each telltale line is code, a warning, or of a log whose failure is another line."""
    by_number = {line.number: line for line in reading.lines}
    roots = {d.number for d in reading.decisive if d.role == "root" and not d.in_title}
    logged = {n for n in roots if n in by_number and by_number[n].kind is Kind.LOG}

    def stands(number: int) -> bool:
        if number == 0:
            return not _consequences().search(reading.report.title)
        line = by_number.get(number)
        if (
            line is None
            or line.kind is Kind.CODE
            or line.level in _QUIET
            or _consequences().search(line.text)
        ):
            return False
        return line.kind is not Kind.LOG or not logged or number in logged

    return bool(numbers) and not any(map(stands, numbers))


@cache
def _consequences() -> re2._Regexp:
    return re2.compile("(?i)" + "|".join(tomllib.loads(_FILE.read_text("utf-8"))["any"]))
