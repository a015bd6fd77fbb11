"""Waves: more reports of one failure within days than the repository's own rate explains.

Reports belong together when they share a known failure, an error signature, or an earlier report that both are the
same as. A wave opens once, grows with later reports, and ends when none came for a week.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Literal, Protocol

from knowledge.findings.failure import load_catalogue
from knowledge.signatures import load_signatures

WINDOW = timedelta(days=3)
"""How close together reports must come to open a wave."""
BEFORE = timedelta(days=90)
"""How far back the repository's own rate is counted."""
LEAST_DAYS = 14
"""Of the rate that must be known."""
QUIET = timedelta(days=7)
"""After so long without a report a wave has ended."""
CHANCE = 1e-4
"""How improbable a burst must be at the repository's own rate. A repository with a hundred kinds of failures is looked
at some ten thousand times a year, so that about one wave a year is chance."""
SOON = timedelta(days=30)
"""A wave that begins so soon after the first report on a version is said to follow it."""
_ALIKE = 0.8
"""Share of the reports that name a component which must agree on its version."""
_FACTS = 4
_ORDER = ("torch", "nccl", "cuda", "launcher", "framework")
_UNTOLD = frozenset({"os", "platform"})
Key = str
"""What reports share, as "failure:ID", "signature:ID" or "same:NUMBER"."""
_RANK = {"failure": 0, "signature": 1, "same": 2}


@dataclass(frozen=True, slots=True)
class Noted:
    """A report, as far as waves and the tracker's state need it."""

    installation_id: int
    repo_id: int
    repo_name: str
    number: int
    opened: datetime
    author: str
    title: str
    """Redacted."""
    keys: tuple[Key, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    framework: str = ""
    launcher: str = ""


@dataclass(frozen=True, slots=True)
class Wave:
    """A wave as it is kept; its reports are those with one of its keys, opened between `since` and `last`."""

    id: int
    installation_id: int
    repo_id: int
    repo_name: str
    keys: tuple[Key, ...]
    since: datetime
    last: datetime
    ended_at: datetime | None
    earlier: int
    """Reports with these keys in the 90 days before it."""
    after: str = ""
    """ "torch 2.6", where it began soon after the first report on that version."""
    after_day: date | None = None
    slack_channel: str | None = None
    slack_ts: str | None = None
    told: str = ""
    """Hash of what the Slack message says."""


@dataclass(frozen=True, slots=True)
class Burst:
    """Reports with one key within the window."""

    key: Key
    reports: tuple[Noted, ...]
    recent: int
    """Reports of any kind in the window."""


@dataclass(frozen=True, slots=True)
class Rate:
    """What the repository was used to before."""

    earlier: int
    """Reports with the key."""
    total: int
    days: float
    """How long a time that covers."""


class WaveStore(Protocol):
    """Where waves and their reports are kept."""

    def bursts(self, since: datetime, until: datetime, least: int) -> list[Burst]:
        """Keys that at least so many people reported in that time, repository by repository."""

    def rate(self, repo_id: int, key: Key, since: datetime, until: datetime) -> Rate:
        """How often such reports came in that time."""

    def first_on(self, repo_id: int, component: str, version: str) -> datetime | None:
        """When the first report on that version of the component was opened."""

    def waves(self, *, running: bool) -> list[Wave]:
        """Those that have not ended; else all that are kept."""

    def reports(self, wave: Wave) -> list[Noted]:
        """Its reports so far, oldest first."""

    def begin(self, wave: Wave) -> None:
        """Keep a new one; its id is given then."""

    def change(self, wave: Wave) -> None:
        """Keep keys, times and end."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that most of a wave's reports have in common."""

    name: str
    value: str
    count: int


def unusual(found: int, recent: int, rate: Rate) -> bool:
    """Whether so many reports with a key (of `recent` in all) are more than the repository's own rate explains.

    Expected is the higher of two numbers: by its rate a day, and by how many come for each other report. The second
    keeps a repository that grows from being full of waves. Where less than two weeks are known, nothing is unusual.
    """
    if rate.days < LEAST_DAYS:
        return False
    usual = rate.earlier + 0.5
    by_day = usual * WINDOW / timedelta(days=rate.days)
    by_others = usual * (recent - found) / (rate.total - rate.earlier + 1)
    return at_least(found, max(by_day, by_others)) < CHANCE


def at_least(count: int, expected: float) -> float:
    """Probability of `count` or more where `expected` come on average (Poisson)."""
    term = math.exp(count * math.log(expected) - expected - math.lgamma(count + 1))
    total, n = 0.0, count
    while term > 1e-12 * total or n < expected:
        total += term
        n += 1
        term *= expected / n
    return min(total, 1.0)


def follow(store: WaveStore, least: int, now: datetime) -> None:
    """Open, grow and end waves as of now; `least` people must have reported what opens one. Safe to repeat."""
    known = store.waves(running=True)
    current: list[tuple[Wave, Sequence[Noted]]] = []
    for wave in known:
        reports = store.reports(wave)
        current.append((_grown(wave, reports, now), reports))
    for burst in sorted(store.bursts(now - WINDOW, now, least), key=_first):
        repo_id = burst.reports[0].repo_id
        if any(w.repo_id == repo_id and burst.key in w.keys and w.ended_at is None for w, _ in current):
            continue
        rate = store.rate(repo_id, burst.key, now - WINDOW - BEFORE, now - WINDOW)
        if not unusual(len(burst.reports), burst.recent, rate):
            continue
        place = next((n for n, (wave, reports) in enumerate(current) if _same(wave, reports, burst)), None)
        if place is None:
            current.append((_wave(store, burst, rate), burst.reports))
        else:
            current[place] = (_with(current[place][0], burst), current[place][1])
    before = {wave.id: wave for wave in known}
    for wave, _ in current:
        if wave.id not in before:
            store.begin(wave)
        elif wave != before[wave.id]:
            store.change(wave)


def _first(burst: Burst) -> tuple[int, int, Key]:
    return _RANK[_kind(burst.key)], -len(burst.reports), burst.key


def _grown(wave: Wave, reports: Sequence[Noted], now: datetime) -> Wave:
    last = max((one.opened for one in reports), default=wave.last)
    return replace(wave, last=last, ended_at=now if now - last > QUIET else None)


def _same(wave: Wave, reports: Sequence[Noted], burst: Burst) -> bool:
    """Whether a burst is of a wave that is known: half of the fewer are in both."""
    numbers, others = {one.number for one in reports}, {one.number for one in burst.reports}
    few = min(len(numbers), len(others))
    running = wave.ended_at is None and wave.repo_id == burst.reports[0].repo_id
    return running and 2 * len(numbers & others) >= few > 0


def _with(wave: Wave, burst: Burst) -> Wave:
    times = [one.opened for one in burst.reports]
    keys = (*wave.keys, burst.key)
    return replace(wave, keys=keys, since=min(wave.since, *times), last=max(wave.last, *times))


def _wave(store: WaveStore, burst: Burst, rate: Rate) -> Wave:
    times = [one.opened for one in burst.reports]
    one = burst.reports[0]
    after, day = _after(store, burst.reports, min(times)) if not rate.earlier else ("", None)
    return Wave(
        0,
        one.installation_id,
        one.repo_id,
        one.repo_name,
        (burst.key,),
        min(times),
        max(times),
        None,
        rate.earlier,
        after,
        day,
    )


def _after(store: WaveStore, reports: Sequence[Noted], began: datetime) -> tuple[str, date | None]:
    """The newest version that all of them share, where the repository's first report on it came shortly before."""
    seen = [
        (first, f"{fact.name} {fact.value}")
        for fact in in_common(reports)
        if fact.name not in ("launcher", "framework")
        and (first := store.first_on(reports[0].repo_id, fact.name, fact.value)) is not None
        and timedelta() < began - first <= SOON
    ]
    if not seen:
        return "", None
    first, name = max(seen)
    return name, first.date()


def in_common(reports: Sequence[Noted]) -> list[Fact]:
    """Versions, launcher and framework that most of the reports agree on, the most telling first; at most four."""
    values: dict[str, list[str]] = {}
    for one in reports:
        told = {**one.versions, "launcher": one.launcher, "framework": one.framework}
        for name, value in told.items():
            if value and name not in _UNTOLD:
                values.setdefault(name, []).append(value)
    facts = [
        Fact(name, *found)
        for name, named in values.items()
        if 2 * len(named) >= len(reports) and (found := _agreed(named)) is not None
    ]
    order = {name: place for place, name in enumerate(_ORDER)}
    return sorted(facts, key=lambda fact: (order.get(fact.name, len(order)), fact.name))[:_FACTS]


def _agreed(values: Sequence[str]) -> tuple[str, int] | None:
    """The value that most name, else the release line ("2.6" of 2.6.0 and 2.6.1), and how many name it."""
    for names in (values, [".".join(value.split("+")[0].split(".")[:2]) for value in values]):
        value, count = Counter(names).most_common(1)[0]
        if count >= 2 and count >= _ALIKE * len(values):
            return value, count
    return None


def headline(wave: Wave, reports: Sequence[Noted]) -> str:
    """ "9 reports in 3 days"."""
    days = max(1, round((wave.last - wave.since) / timedelta(days=1)))
    return f"{len(reports)} reports in {days} day{'s' * (days > 1)}"


def sentences(wave: Wave, reports: Sequence[Noted]) -> list[str]:
    """What the reports share, how often such reports came before, and which version they follow; plain text."""
    facts = in_common(reports)
    every = [_named(fact) for fact in facts if fact.count == len(reports)]
    most = [
        f"{_named(fact)} in {fact.count} of {len(reports)}" for fact in facts if fact.count < len(reports)
    ]
    shared = "; ".join([*([f"all {' + '.join(every)}"] if every else []), *most])
    out = [f"{shared[0].upper()}{shared[1:]}."] if shared else []
    out.append(f"{wave.earlier or 'None'} in the {BEFORE.days} days before.")
    if wave.after and wave.after_day:
        days = (wave.since.date() - wave.after_day).days
        when = f"{days} day{'s' * (days > 1)} after" if days else "on the day of"
        out.append(f"First seen {when} the first report on {wave.after}.")
    if wave.ended_at is not None:
        out.append(f"Ended: none since {wave.last:%Y-%m-%d}.")
    return out


def _named(fact: Fact) -> str:
    return f"{fact.name} {fact.value}"


def subject(keys: Iterable[Key], reports: Sequence[Noted]) -> tuple[str, Literal["ours", "theirs"]]:
    """What a wave is of, in words, and whose words these are: a report's title is text of a stranger's."""
    for key in sorted(keys, key=lambda key: _RANK[_kind(key)]):
        name = name_of_key(key)
        if name:
            return name, "ours"
    return (reports[0].title if reports else "reports of one failure"), "theirs"


def name_of_key(key: Key) -> str:
    """The title of a known failure or the meaning of a signature; "" for what has no name of ours."""
    kind, _, id = key.partition(":")
    if kind == "failure":
        found = load_catalogue().get(id)
        return found.title if found else id
    return _meanings().get(id, id) if kind == "signature" else ""


@lru_cache(maxsize=1)
def _meanings() -> dict[str, str]:
    return {one.id: one.meaning.split(";")[0].rstrip(".") for one in load_signatures()}


@lru_cache(maxsize=1)
def root_signatures() -> frozenset[str]:
    """Signatures of lines that tell what failed; the others accompany many failures."""
    return frozenset(one.id for one in load_signatures() if one.role == "root")


def _kind(key: Key) -> str:
    return key.partition(":")[0]
