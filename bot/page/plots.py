"""Plots of the weeks: one small bar chart a figure, drawn by sections/plot.html.j2, with its numbers on hover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.page.tables import Week

WIDTH, HEIGHT = 360, 110
"""Of a plot's bars, in units of the drawing."""
_GAP = 5


@dataclass(frozen=True, slots=True)
class Bar:
    """One week; `top` and `height` are its bar's, `back_top` and `back_height` those of the paler one behind it."""

    x: float
    width: float
    top: float
    height: float
    back_top: float
    back_height: float
    label: str
    """The numbers, shown on hover and read out."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A figure over the weeks."""

    title: str
    note: str
    """What is counted."""
    now: str
    """The figure over all weeks."""
    most: str
    """What the top of the plot means."""
    bars: list[Bar]
    empty: str
    """Said in place of the plot where no week has a number."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not self.bars


@dataclass(frozen=True, slots=True)
class _Point:
    """A week's number, with one behind it; None = there is none."""

    value: float | None
    label: str
    back: float | None = None


def plots_of(weeks: Sequence[Week]) -> list[Plot]:
    """The five plots."""
    right, judged = sum(w.right for w in weeks), sum(w.judged for w in weeks)
    dismissed, posted = sum(w.dismissed for w in weeks), sum(w.posted for w in weeks)
    silent, triages = sum(w.silent for w in weeks), sum(w.triages for w in weeks)
    timed = [w.seconds for w in weeks if w.seconds is not None]
    dollars = sum(w.dollars for w in weeks)
    return [
        _share(
            "Precision",
            "Labels that people judged and found right.",
            weeks,
            lambda w: (w.right, w.judged),
            (right, judged, "judged labels"),
            "Nobody has judged a label in these weeks. Open a triage and click the labels that are right.",
        ),
        _share(
            "Noise",
            "Comments that people hid, deleted or gave a thumbs down.",
            weeks,
            lambda w: (w.dismissed, w.posted),
            (dismissed, posted, "comments"),
            "No comment was posted in these weeks.",
        ),
        _share(
            "Silence",
            "Triages that had nothing to say.",
            weeks,
            lambda w: (w.silent, w.triages),
            (silent, triages, "triages"),
            "No issue was triaged in these weeks.",
        ),
        _amount(
            "Latency",
            "From the webhook to the end of its work; paler: 95th percentile. Deliveries are kept for 30 days.",
            [_timed(w) for w in weeks],
            seconds_words,
            f"median {seconds_words(max(timed))} in the slowest week" if timed else "",
            "No delivery of these weeks is stored.",
        ),
        _amount(
            "Cost",
            "What the LLM cost, in US dollars.",
            [_Point(w.dollars or None, f"{_of(w)}: ${w.dollars:.2f}") for w in weeks],
            lambda dollars: f"${dollars:.2f}",
            f"${dollars:.2f} in all",
            "Nothing was spent on an LLM in these weeks.",
        ),
    ]


def seconds_words(seconds: float) -> str:
    """A duration in the unit that fits it."""
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _of(week: Week) -> str:
    return f"Week of {week.start.isoformat()}"


def _timed(week: Week) -> _Point:
    if week.seconds is None or week.slow_seconds is None:
        return _Point(None, f"{_of(week)}: no delivery stored")
    words = f"median {seconds_words(week.seconds)}, 95 % within {seconds_words(week.slow_seconds)}"
    return _Point(week.seconds, f"{_of(week)}: {words}", week.slow_seconds)


def _share(
    title: str,
    note: str,
    weeks: Sequence[Week],
    of: Callable[[Week], tuple[int, int]],
    whole: tuple[int, int, str],
    empty: str,
) -> Plot:
    """A plot of part/whole, from 0 to 100 %; `whole` has part, whole and unit over all weeks."""
    part, total, unit = whole
    points = []
    for week in weeks:
        n, of_all = of(week)
        share = n / of_all if of_all else None
        words = f"{n} of {of_all} {unit}" + ("" if share is None else f" ({share:.0%})")
        points.append(_Point(share, f"{_of(week)}: {words}"))
    now = f"{part / total:.0%} ({part} of {total} {unit})" if total else ""
    return Plot(title, note, now, "100%", _bars(points, 1.0) if total else [], empty)


def _amount(
    title: str, note: str, points: Sequence[_Point], words: Callable[[float], str], now: str, empty: str
) -> Plot:
    """A plot from 0 to the largest number."""
    most = max([max(p.value, p.back or 0.0) for p in points if p.value is not None], default=0.0)
    return Plot(title, note, now, words(most), _bars(points, most) if most else [], empty)


def _bars(points: Sequence[_Point], most: float) -> list[Bar]:
    step = WIDTH / len(points)

    def height(value: float | None) -> float:
        # A number of zero is a line, so that it differs from none at all.
        return 0.0 if value is None else max(1.5, round(HEIGHT * value / most, 1))

    return [
        Bar(
            x=round(n * step + _GAP / 2, 1),
            width=round(step - _GAP, 1),
            top=HEIGHT - height(point.value),
            height=height(point.value),
            back_top=HEIGHT - height(point.back),
            back_height=height(point.back),
            label=point.label,
        )
        for n, point in enumerate(points)
    ]
