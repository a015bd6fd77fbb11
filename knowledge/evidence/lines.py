"""A line of a report: the cleaning that gives it its text, its time stamp, many patterns in one pass."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import re2

# Time stamps as logs print them, and which of two comes first.

_CLOCK = r"(\d\d):(\d\d):(\d\d(?:[.,]\d{1,9})?)"
# Every part is bounded, so re is as safe as RE2 here, and reading a match three times as fast.
_FORMS = (
    # 2026-05-03 10:02:31,008   2026/05/03 10:02:31   2026-05-03T10:02:31.008Z   2026-09-12_08:24:45
    (re.compile(rf"^(\d{{4}})[-/](\d\d)[-/](\d\d)[ T_]{_CLOCK}"), "ymd"),
    # 05/03/2026 10:02:31
    (re.compile(rf"^(\d\d)[-/](\d\d)[-/](\d{{4}})[ T]{_CLOCK}"), "mdy"),
    # May  3 10:02:31
    (re.compile(rf"^([A-Z][a-z]{{2}}) +(\d{{1,2}}) {_CLOCK}"), "syslog"),
    # glog: 0503 10:02:31.000000; ProcessGroupNCCL drops the zero of the month
    (re.compile(rf"^(\d{{1,2}})(\d\d) {_CLOCK}"), "md"),
    (re.compile(rf"^{_CLOCK}"), "clock"),
    (re.compile(r"^(1[5-9]\d{8}(?:\.\d+)?)"), "epoch"),
)
_MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time as printed (`text`); `seconds` counts from midnight, `day` from the start of the year."""

    text: str
    seconds: float
    day: int | None = None
    year: int | None = None


def read_stamp(text: str) -> Stamp | None:
    """The time that `text` begins with, in one of the usual forms; time zones are left out of account."""
    for pattern, form in _FORMS:
        match = pattern.match(text)
        if match is None:
            continue
        parts, whole = match.groups(), str(match.group(0))
        if form == "epoch":
            days, seconds = divmod(float(parts[0]), 86_400)
            return Stamp(whole, seconds, int(days) % 366, int(days) // 366)
        clock = int(parts[-3]) * 3600 + int(parts[-2]) * 60 + float(parts[-1].replace(",", "."))
        if form == "clock":
            return Stamp(whole, clock)
        year, month, day = _date(form, parts)
        return Stamp(whole, clock, month * 31 + day, year)
    return None


def _date(form: str, parts: tuple[str, ...]) -> tuple[int | None, int, int]:
    if form == "ymd":
        return int(parts[0]), int(parts[1]), int(parts[2])
    if form == "mdy":
        return int(parts[2]), int(parts[0]), int(parts[1])
    month = _MONTHS.get(parts[0], 0) if form == "syslog" else int(parts[0])
    return None, month, int(parts[1])


def seconds_between(first: Stamp, second: Stamp) -> float:
    """Seconds from `first` to `second`, by as much of the date as both tell; negative when `second` is earlier."""
    gap = second.seconds - first.seconds
    if first.day is not None and second.day is not None:
        gap += 86_400 * (second.day - first.day)
        if first.year is not None and second.year is not None:
            gap += 86_400 * 372 * (second.year - first.year)
    return gap


# Many patterns in one linear pass over a line.

MEMORY = 64 << 20
"""Bytes for the automaton of one set; with less it is thrown away and built again and again."""


def pattern_set(patterns: Iterable[str]) -> re2._Set:
    """A compiled set; `Match(text)` gives the places of the patterns found anywhere in it, or None."""
    options = re2.Options()
    options.max_mem = MEMORY
    out = re2.Set.SearchSet(options)
    for pattern in patterns:
        out.Add(pattern)
    out.Compile()
    return out


MAX_LINE = 2000
"""Characters of a line that are looked at; longer ones are data dumps, not messages."""

_ANSI = re2.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][A-Z0-9])")
_LINE_END = re2.compile(r"\r+\n")
# C0 and C1 controls but tab, zero-width and bidirectional marks, soft hyphen, byte-order mark.
_INVISIBLE = {
    code: None
    for span in (
        (0x00, 0x08),
        (0x0B, 0x0C),
        (0x0E, 0x1F),
        (0x7F, 0x9F),
        (0xAD, 0xAD),
        (0x200B, 0x200F),
        (0x202A, 0x202E),
        (0x2060, 0x2064),
        (0x2066, 0x206F),
        (0xFEFF, 0xFEFF),
        (0xE0000, 0xE007F),
    )
    for code in range(span[0], span[1] + 1)
}


class Kind(Enum):
    """What a line is, for the reading that follows."""

    PROSE = "prose"
    HEADING = "heading"
    CODE = "code"
    COMMAND = "command"
    LOG = "log"
    ENVIRONMENT = "environment"
    TEMPLATE = "template"
    NOISE = "noise"
    BLANK = "blank"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the body; `number` is 1-based, `text` is cleaned and without what stood before the message."""

    number: int
    text: str
    kind: Kind
    rank: int | None = None
    fenced: bool = False
    """True inside a code fence or an indented block of Markdown."""
    host: str | None = None
    pid: int | None = None
    time: Stamp | None = None
    level: str | None = None
    """D, I, W, E or F where a logger says it."""
    group: str | None = None
    """The process group that torch names before the message."""


def clean_text(text: str) -> str:
    """Drop escape sequences, control and invisible characters; the number of newlines stays."""
    # A lone surrogate (from broken JSON) has no UTF-8 form: RE2 and every encoder after it would refuse the text.
    text = text.encode("utf-8", "replace").decode("utf-8")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    text = text.translate(_INVISIBLE)
    # Last, since what is dropped may stand before a line's end.
    return str(_LINE_END.sub("\n", text)) if "\r" in text else text


def split_lines(text: str) -> list[str]:
    """Lines of a cleaned text; of a line redrawn with carriage returns only the last state is kept."""
    return [line.rstrip("\r").rpartition("\r")[2][:MAX_LINE].rstrip() for line in text.split("\n")]
