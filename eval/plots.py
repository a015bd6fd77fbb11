"""Plots of the report as SVG: risk and coverage, reliability, each class beside how far people agree, confusion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from markupsafe import Markup, escape

from eval.compare import Difference
from eval.summary import AxisSummary


def element(tag: str, *inside: Markup | str, **attributes: object) -> Markup:
    """An element; text inside is escaped, `class_` is written class, underscores in names become hyphens."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_short(value))}"'
        for name, value in attributes.items()
    )
    return Markup("<{}{}>{}</{}>").format(Markup(tag), Markup(written), Markup("").join(inside), Markup(tag))


def _short(value: object) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)


class Plot:
    """A plot of shares on a square: `x` and `y` turn 0..1 into pixels."""

    width, height = 376.0, 348.0
    left, right, top, bottom = 54.0, 28.0, 12.0, 42.0

    def __init__(self, x_title: str, y_title: str, x_from: float = 0.0, y_to: float = 1.0) -> None:
        self._x_from, self._y_to = x_from, y_to
        self._titles = x_title, y_title

    def x(self, share: float) -> float:
        """Pixel of a share on the horizontal axis."""
        return self.left + (share - self._x_from) / (1 - self._x_from) * (self.width - self.left - self.right)

    def y(self, share: float) -> float:
        """Pixel of a share on the vertical axis; what lies above the scale is drawn at its top."""
        return self.height - self.bottom - min(share, self._y_to) / self._y_to * self._tall

    @property
    def _tall(self) -> float:
        return self.height - self.top - self.bottom

    def line(self, points: Sequence[tuple[float, float]], class_: str) -> Markup:
        """A line through points of shares."""
        path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        return element("polyline", points=path, class_=class_)

    def drawn(self, label: str, *inside: Markup) -> Markup:
        """The whole plot, with grid and axis titles; `label` is read to who cannot see it."""
        return element(
            "svg",
            element("title", label),
            *self._grid(),
            *inside,
            viewBox=f"0 0 {self.width:.0f} {self.height:.0f}",
            class_="plot",
            role="img",
        )

    def _grid(self) -> list[Markup]:
        low, high = self.height - self.bottom, self.width - self.right
        out = []
        for step in range(6):
            share = self._y_to * step / 5
            at = self.y(share)
            out.append(element("line", x1=self.left, x2=high, y1=at, y2=at, class_="grid"))
            out.append(element("text", f"{share:.2g}", x=self.left - 7, y=at + 4, class_="tick end"))
            across = self._x_from + (1 - self._x_from) * step / 5
            out.append(element("text", f"{across:.2g}", x=self.x(across), y=low + 16, class_="tick mid"))
        middle = (self.left + high) / 2
        out.append(element("text", self._titles[0], x=middle, y=self.height - 8, class_="axis mid"))
        turn = f"rotate(-90 12 {(low + self.top) / 2:.1f})"
        out.append(
            element(
                "text", self._titles[1], x=12.0, y=(low + self.top) / 2, transform=turn, class_="axis mid"
            )
        )
        return out


def _curves(axes: Mapping[str, AxisSummary]) -> dict[str, tuple[int, list[tuple[float, float]]]]:
    """By system: its place among all, and its curve; only of those whose confidences tell cases apart."""
    lead = next(iter(axes.values()))
    ranked = {name: axis for name, axis in axes.items() if axis.risk and (axis is lead or _orders(axis))}
    return {name: (list(axes).index(name), _smooth(axis)) for name, axis in ranked.items()}


def risk_scale(plots: Iterable[Mapping[str, AxisSummary]]) -> float:
    """The top of the risk scale on which all these plots can be compared."""
    risks = (risk for axes in plots for _, curve in _curves(axes).values() for _, risk in curve)
    return _up(max(risks, default=1.0))


def risk_coverage(axes: Mapping[str, AxisSummary], y_to: float) -> Markup:
    """Share wrong among the most confident, per system; the first system's own threshold is marked."""
    lead = next(iter(axes.values()))
    curves = _curves(axes)
    plot = Plot("coverage (most confident first)", "share wrong", y_to=y_to)
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
    """Share right against confidence, one circle a bin, its area the number of cases, which is written at it."""
    plot = Plot("confidence of the first id", "share right")
    inside = [plot.line([(0, 0), (1, 1)], "ideal")]
    most = max((one.cases for one in axis.bins), default=1)
    for one in axis.bins:
        x, y = plot.x(one.confidence), plot.y(one.right)
        inside.append(element("line", x1=x, x2=x, y1=plot.y(one.confidence), y2=y, class_="gap"))
        note = f"{one.cases} cases: confidence {one.confidence:.2f}, right {one.right:.2f}"
        radius = 3 + 9 * (one.cases / most) ** 0.5
        inside.append(element("circle", element("title", note), cx=x, cy=y, r=radius, class_="bin"))
        # On the side of the circle where the line to the diagonal is not.
        above = y <= plot.y(one.confidence) and y - radius > plot.top + 14
        at = y - radius - 4 if above else y + radius + 12
        if at > plot.height - plot.bottom - 2:
            at = y - radius - 4
        inside.append(element("text", f"n={one.cases}", x=x, y=at, class_="count mid"))
    return plot.drawn(f"Reliability of {axis.axis}", *inside)


_ROW = 22.0
_LABELS = 284.0
_BAR = 170.0


def class_bars(axis: AxisSummary, human: Mapping[str, float], name: Callable[[str], str]) -> Markup:
    """F1 of each class as a bar; a line marks the agreement of two people on it, where it is known."""
    width, height = _LABELS + _BAR + 46, _ROW * len(axis.classes) + 8
    rows = [
        _bar(at, row.id, row.f1, row.cases, human.get(row.id), name) for at, row in enumerate(axis.classes)
    ]
    return element(
        "svg",
        element("title", f"F1 of each class of {axis.axis}, with human agreement"),
        *rows,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        class_="bars",
        role="img",
    )


def _bar(at: int, id: str, f1: float, cases: int, human: float | None, name: Callable[[str], str]) -> Markup:
    top = 4 + at * _ROW
    label = _cut(
        f"{id}  {name(id)}" if name(id).lower() != id.replace("_", " ") else id.replace("_", " "), 44
    )
    parts = [
        element("text", label, x=_LABELS - 44, y=top + 14, class_="tick end"),
        element("text", str(cases), x=_LABELS - 10, y=top + 14, class_="count end"),
        element("rect", x=_LABELS, y=top + 3, width=_BAR, height=_ROW - 8, class_="track", rx=2),
        element("rect", x=_LABELS, y=top + 3, width=f1 * _BAR, height=_ROW - 8, class_="bar", rx=2),
        element("text", f"{f1:.2f}", x=_LABELS + _BAR + 10, y=top + 14, class_="tick"),
    ]
    if human is not None:
        x = _LABELS + human * _BAR
        note = element("title", f"two people: {human:.2f}")
        parts.append(element("line", note, x1=x, x2=x, y1=top, y2=top + _ROW - 2, class_="human"))
    return element("g", *parts)


def confusion(axis: AxisSummary, name: Callable[[str], str]) -> Markup:
    """Labels by rows, predictions by columns, the same ids in the same order; depth is the share of the row."""
    ids = _ordered(axis)
    cell = 30.0 if len(ids) <= 8 else 19.0
    margin = 22 + 6.4 * max((len(_short_id(id)) for id in ids), default=1)
    side = len(ids) * cell
    out = [element("rect", x=margin, y=margin, width=side, height=side, class_="frame")]
    for row, label in enumerate(ids):
        y, x = margin + row * cell, margin + (row + 0.62) * cell
        turn = f"rotate(-60 {x:.1f} {margin - 6:.1f})"
        out.append(element("text", _short_id(label), x=margin - 6, y=y + cell * 0.68, class_="tick end"))
        out.append(element("text", _short_id(label), x=x, y=margin - 6, transform=turn, class_="tick"))
        total = sum(axis.confusion.get((label, id), 0) for id in ids)
        for column, id in enumerate(ids):
            count = axis.confusion.get((label, id), 0)
            if count:
                note = f"{label} {name(label)} taken for {id} {name(id)}: {count} of {total}"
                kind = "right" if id == label else "wrong"
                out.append(_cell(margin + column * cell, y, cell, count, count / total, kind, note))
    width, height = margin + side + 40, margin + side + 6
    return element(
        "svg",
        element("title", f"Confusion matrix of {axis.axis}"),
        *out,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        class_="heat",
        role="img",
        style=f"max-width:{width:.0f}px",
    )


def _cell(x: float, y: float, size: float, count: int, share: float, kind: str, note: str) -> Markup:
    square = element(
        "rect",
        x=x + 0.5,
        y=y + 0.5,
        width=size - 1,
        height=size - 1,
        class_=kind,
        fill_opacity=f"{0.15 + 0.85 * share:.2f}",
    )
    strong = " strong" if share > 0.5 else ""
    number = element("text", str(count), x=x + size / 2, y=y + size * 0.68, class_=f"cell mid{strong}")
    return element("g", element("title", note), square, number)


def intervals(found: Sequence[Difference]) -> Markup:
    """Each difference with its 95 % interval about zero, all on one scale."""
    reach = max((abs(end) for one in found for end in (one.low, one.high, one.delta)), default=0.0) or 0.1
    names, wide = 120.0, 320.0
    height, width = _ROW * len(found) + 30, names + wide + 30

    def x(share: float) -> float:
        return names + (share + reach) / (2 * reach) * wide

    parts = [element("line", x1=x(0), x2=x(0), y1=4.0, y2=height - 22, class_="ideal")]
    for at, one in enumerate(found):
        y = 15 + at * _ROW
        kind = "" if not one.significant else " better" if one.delta > 0 else " worse"
        note = element(
            "title", f"{one.axis} {one.metric}: {one.delta:+.3f} ({one.low:+.3f} to {one.high:+.3f})"
        )
        parts += [
            element("text", f"{one.axis} {one.metric}", x=names - 8, y=y + 4, class_="tick end"),
            element("line", note, x1=x(one.low), x2=x(one.high), y1=y, y2=y, class_=f"span{kind}"),
            element("circle", note, cx=x(one.delta), cy=y, r=4.0, class_=f"point{kind}"),
        ]
    for share in (-reach, 0.0, reach):
        parts.append(element("text", f"{share:+.2f}", x=x(share), y=height - 6, class_="axis mid"))
    return element(
        "svg",
        element("title", "B minus A with 95 % intervals"),
        *parts,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        class_="bars",
        role="img",
    )


def _ordered(axis: AxisSummary) -> list[str]:
    """Labelled classes first, then those only ever predicted."""
    labelled = [row.id for row in axis.classes]
    return [*labelled, *sorted({said for _, said in axis.confusion} - set(labelled))]


def _short_id(id: str) -> str:
    return _cut(id.replace("_", " "), 20)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
