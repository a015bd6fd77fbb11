"""Per class: how well it is found beside how far people agree on it, and what it is taken for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markupsafe import Markup

from eval.summary import AxisSummary
from eval.svg import element

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
        element("title", f"F1 of each class of {axis.axis}, beside people's agreement"),
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
    """Labels by rows, predictions by columns; a cell's depth is its share of the row."""
    labelled = [row.id for row in axis.classes]
    said = [id for id in _ordered(axis) if any(axis.confusion.get((label, id)) for label in labelled)]
    cell = 30.0 if len(labelled) <= 8 else 19.0
    margin = 22 + 6.4 * max((len(_short(id)) for id in [*labelled, *said]), default=1)
    out = []
    for row, label in enumerate(labelled):
        total = sum(axis.confusion.get((label, id), 0) for id in said)
        y = margin + row * cell
        out.append(element("text", _short(label), x=margin - 6, y=y + cell * 0.68, class_="tick end"))
        for column, id in enumerate(said):
            count = axis.confusion.get((label, id), 0)
            if count:
                note = f"{label} {name(label)} taken for {id} {name(id)}: {count} of {total}"
                kind = "right" if id == label else "wrong"
                out.append(_cell(margin + column * cell, y, cell, count, count / total, kind, note))
    for column, id in enumerate(said):
        x = margin + (column + 0.62) * cell
        turn = f"rotate(-60 {x:.1f} {margin - 6:.1f})"
        out.append(element("text", _short(id), x=x, y=margin - 6, transform=turn, class_="tick"))
    width, height = margin + len(said) * cell + 40, margin + len(labelled) * cell + 6
    frame = element(
        "rect", x=margin, y=margin, width=len(said) * cell, height=len(labelled) * cell, class_="frame"
    )
    return element(
        "svg",
        element("title", f"Confusion matrix of {axis.axis}"),
        frame,
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


def _ordered(axis: AxisSummary) -> list[str]:
    """Labelled classes first, then those only ever predicted."""
    labelled = [row.id for row in axis.classes]
    return [*labelled, *sorted({said for _, said in axis.confusion} - set(labelled))]


def _short(id: str) -> str:
    return _cut(id.replace("_", " "), 20)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
