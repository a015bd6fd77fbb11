"""The two curves of an axis: how risk grows with coverage, and whether confidence means what it says."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from eval.summary import AxisSummary
from eval.svg import Plot, element


def risk_coverage(axes: Mapping[str, AxisSummary]) -> Markup:
    """Share wrong among the most confident, per system; the first system's own threshold is marked."""
    lead = next(iter(axes.values()))
    curves = {
        name: _smooth(axis)
        for name, axis in axes.items()
        if axis.risk and axis.figures["aurc"].value is not None
    }
    highest = max((risk for curve in curves.values() for share, risk in curve if share >= 0.1), default=1.0)
    plot = Plot("coverage (most confident first)", "share wrong", y_to=_up(highest))
    inside = [
        plot.line(curve, f"curve s{min(at, 5)}")
        for at, (name, curve) in reversed(list(enumerate(curves.items())))
    ]
    coverage, precision = lead.figures["coverage"].value, lead.figures["precision"].value
    if coverage and precision is not None:
        x, y = plot.x(coverage), plot.y(1 - precision)
        note = f"its threshold: {coverage:.2f} answered, {precision:.2f} of them right"
        inside.append(element("circle", element("title", note), cx=x, cy=y, r=5.0, class_="mark"))
        end = x > plot.width * 0.55
        inside.append(
            element(
                "text", "threshold", x=x - 9 if end else x + 9, y=y - 8, class_="note end" if end else "note"
            )
        )
    return plot.drawn(f"Risk-coverage curve of {lead.axis}", *inside)


def _smooth(axis: AxisSummary) -> list[tuple[float, float]]:
    """The curve without its first few cases, where one error is a cliff; at most some 200 points."""
    start = min(len(axis.risk) - 1, max(4, len(axis.risk) // 25))
    step = max(1, len(axis.risk) // 200)
    return [*list(axis.risk)[start::step], axis.risk[-1]]


def _up(share: float) -> float:
    return min(1.0, max(0.1, -(-share * 10 // 1) / 10))


def reliability(axis: AxisSummary) -> Markup:
    """Share right against confidence, one circle a bin, its area the number of cases."""
    plot = Plot("confidence of the first id", "share right")
    inside = [plot.line([(0, 0), (1, 1)], "ideal")]
    most = max((one.cases for one in axis.bins), default=1)
    for one in axis.bins:
        x, y = plot.x(one.confidence), plot.y(one.right)
        inside.append(element("line", x1=x, x2=x, y1=plot.y(one.confidence), y2=y, class_="gap"))
        note = f"{one.cases} cases: confidence {one.confidence:.2f}, right {one.right:.2f}"
        radius = 3 + 9 * (one.cases / most) ** 0.5
        inside.append(element("circle", element("title", note), cx=x, cy=y, r=radius, class_="bin"))
    return plot.drawn(f"Reliability of {axis.axis}", *inside)
