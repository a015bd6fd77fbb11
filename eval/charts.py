"""The two curves of an axis: how risk grows with coverage, and whether confidence means what it says."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from eval.summary import AxisSummary
from eval.svg import Plot, element


def risk_coverage(axes: Mapping[str, AxisSummary]) -> Markup:
    """Share wrong among the most confident, per system; the first system's own threshold is marked."""
    lead = next(iter(axes.values()))
    ranked = {name: axis for name, axis in axes.items() if axis.risk and (axis is lead or _orders(axis))}
    curves = {name: (list(axes).index(name), _smooth(axis)) for name, axis in ranked.items()}
    highest = max((risk for _, curve in curves.values() for _, risk in curve), default=1.0)
    plot = Plot("coverage (most confident first)", "share wrong", y_to=_up(highest))
    inside = [plot.line(curve, f"curve s{min(at, 5)}") for at, curve in reversed(curves.values())]
    coverage, precision = lead.figures["coverage"].value, lead.figures["precision"].value
    if coverage and precision is not None:
        x, y = plot.x(coverage), plot.y(1 - precision)
        note = f"its threshold: {coverage:.2f} answered, {precision:.2f} of them right"
        inside.append(element("circle", element("title", note), cx=x, cy=y, r=5.0, class_="mark"))
        # Below the curve, which rises to the right: there nothing else is drawn.
        end = x > plot.width * 0.8
        inside.append(
            element(
                "text", "threshold", x=x - 9 if end else x + 9, y=y + 17, class_="note end" if end else "note"
            )
        )
    return plot.drawn(f"Risk-coverage curve of {lead.axis}", *inside)


def _orders(axis: AxisSummary) -> bool:
    """Whether its confidences tell cases apart: a curve of one confidence for all is an accident of their order."""
    return axis.figures["aurc"].value is not None and len(axis.bins) > 2


def _smooth(axis: AxisSummary) -> list[tuple[float, float]]:
    """The curve without its first few cases, where one error is a cliff; at most some 200 points."""
    start = min(len(axis.risk) - 1, max(4, len(axis.risk) // 25))
    step = max(1, len(axis.risk) // 200)
    return [*list(axis.risk)[start::step], axis.risk[-1]]


def _up(share: float) -> float:
    """The least top of a scale whose fifths are round."""
    return next((top for top in (0.1, 0.2, 0.25, 0.5, 0.75) if share <= top), 1.0)


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
