"""A kept history, replayed forward in time: figures, and what would have been written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bot.history.records import HistoryStore, RepoHistory
from bot.history.replay.advice import Advice, advice_of
from bot.history.replay.comments import Comment, Failures, Written, is_told, share_in_percent
from bot.history.replay.labels import LabelSummary
from eval.history import Figures, Replayed, figures, older_and_newer, own_threshold, replay
from eval.metrics import Estimate
from knowledge.history.tracker import groups, in_order
from knowledge.history.verifier import load_weights

MONTHS = 24
_STEPS = tuple(n / 20 for n in range(1, 20))


def replayed(
    store: HistoryStore,
    repo: RepoHistory,
    said: Mapping[str, Mapping[str, float]] | None = None,
    most: int = 0,
) -> list[Replayed]:
    """All reports of the history, or the newest `most`, in the order in which they were opened.

    `said`: by issue and earlier issue what people voted; from 1 on they are the same, from -1 on they are not, whatever
    else marks them.
    """
    records = in_order([record for _, record in store.newer(repo.key, 0)])[-most:]
    said = said or {}
    marks = {id: list(others) for id, others in store.marks(repo.key).items()}
    for id, votes in said.items():
        agreed = [other for other, count in votes.items() if count >= 1]
        marks[id] = [o for o in marks.get(id, []) if votes.get(o, 0) > -1] + agreed
    found = replay(records, groups([record.id for record in records], marks), load_weights())
    return [_judged(one, said.get(one.record.id, {})) for one in found]


def _judged(one: Replayed, votes: Mapping[str, float]) -> Replayed:
    """The report with what people said of single matches."""
    pairs = zip(one.near, one.marked, strict=True)
    return replace(one, marked=tuple(right and votes.get(near.record.id, 0) > -1 for near, right in pairs))


@dataclass(frozen=True, slots=True)
class Row:
    """What is shown at one threshold; shares with their intervals, in words."""

    name: str
    commented: int
    precision: str
    coverage: str


@dataclass(frozen=True, slots=True)
class Month:
    """A month's reports, and those of them below which a comment would have been written."""

    month: str
    reports: int
    marked: int
    """With an earlier issue that people marked as the same."""
    unmarked: int
    """With earlier issues that nobody marked."""
    failures: int
    """With a known failure or a version conflict alone."""


@dataclass(frozen=True, slots=True)
class Point:
    """Shares at a threshold, as bars between `low` and `high`; None = nothing is shown there."""

    threshold: float
    commented: int
    marked: float | None
    low: float | None
    high: float | None
    coverage: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """A replay as the page and the command show it."""

    name: str
    since: str
    """The first day of its period (ISO 8601); "" = undated."""
    reports: int
    """Opened in the period."""
    before: int
    """Opened before it: known from the start."""
    commented: int
    """Reports below which a comment would have been written."""
    spoken: str
    """Their share, with its interval."""
    with_earlier: int
    now: float
    """The threshold that is in use."""
    own: float | None
    """One fitted to all marks; None = too few marks."""
    rows: list[Row]
    months: list[Month]
    points: list[Point]
    failures: Failures
    comments: list[Comment]
    advice: Advice
    labels: LabelSummary | None = None

    @property
    def heading(self) -> str:
        """When it began, in words."""
        if not self.since:
            return "Had distriage been on from the start"
        day = date.fromisoformat(self.since)
        return f"Had distriage been on since {day:%B} {day.day}, {day.year}"

    def names(self, id: str, earlier: str) -> bool:
        """Whether a comment that is listed, that of the issue `id`, names this earlier issue."""
        return any(
            one.issue.id == id and earlier in [issue.id for issue in one.earlier] for one in self.comments
        )

    @classmethod
    def of_json(cls, value: dict[str, Any]) -> Summary | None:
        """What `asdict` made of one; None where another version did."""
        try:
            return _READ.validate_python(value)
        except ValidationError:
            return None


_READ = TypeAdapter(Summary)


def summary(
    written: Written, found: Sequence[Replayed], labels: LabelSummary | None = None, since: date | None = None
) -> Summary:
    """What would have been said from `since` on (None: from the start) at the threshold in use; figures at others."""
    repo, shipped, own = written.repo, load_weights().threshold, own_threshold(found)
    start = None if since is None else midnight(since)
    period = [one for one in found if start is None or (one.record.opened and one.record.opened >= start)]
    now = repo.threshold if repo.threshold is not None else shipped
    first = since or next((one.record.opened.date() for one in period if one.record.opened), None)
    commented = sum(is_told(one, now) for one in period)
    failures = written.failures(period)
    numbers = figures(period, now)
    return Summary(
        name=repo.full_name,
        since=first.isoformat() if first else "",
        reports=len(period),
        before=len(found) - len(period),
        commented=commented,
        spoken=share_in_percent(commented, len(period)),
        with_earlier=numbers.with_earlier,
        now=now,
        own=own,
        rows=_rows(found, period, shipped, own, start),
        months=_months(period, now),
        points=[_point(step, figures(period, step)) for step in _STEPS],
        failures=failures,
        comments=written.comments(period, now),
        advice=advice_of(labels, numbers, failures),
        labels=labels,
    )


def midnight(day: date) -> datetime:
    """When a day begins (UTC)."""
    return datetime.combine(day, time(), UTC)


def _rows(
    found: Sequence[Replayed],
    period: Sequence[Replayed],
    shipped: float,
    own: float | None,
    start: datetime | None,
) -> list[Row]:
    """At the shipped threshold, at one fitted to all marks, and at one fitted to earlier reports alone."""
    rows = [_row(f"shipped, P >= {shipped:.2f}", figures(period, shipped))]
    if own is not None:
        rows.append(_row(f"fitted to all its marks, P >= {own:.2f}", figures(period, own)))
    older, newer = older_and_newer(found) if start is None else (found[: len(found) - len(period)], period)
    before = own_threshold(older)
    if before is not None:
        basis, test = ("older 70 %", ", on the newer 30 %") if start is None else ("reports before", "")
        rows.append(_row(f"fitted to the {basis}, P >= {before:.2f}{test}", figures(newer, before)))
    return rows


def _row(name: str, numbers: Figures) -> Row:
    return Row(name, numbers.commented, str(numbers.precision), str(numbers.coverage))


def _point(threshold: float, numbers: Figures) -> Point:
    right: Estimate = numbers.precision
    return Point(threshold, numbers.commented, right.value, right.low, right.high, numbers.coverage.value)


def _months(found: Sequence[Replayed], threshold: float) -> list[Month]:
    counts: dict[str, list[int]] = {}
    for one in found:
        if one.record.opened is None:
            continue
        count = counts.setdefault(f"{one.record.opened:%Y-%m}", [0, 0, 0, 0])
        count[0] += 1
        if shown := one.shown(threshold):
            count[1 if any(right for _, right in shown) else 2] += 1
        elif is_told(one, threshold):
            count[3] += 1
    return [Month(month, *count) for month, count in sorted(counts.items())][-MONTHS:]
