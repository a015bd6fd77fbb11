"""A few words of SVG: elements with escaped texts, and a plot area with axes from 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape


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
    """A square plot of shares: `x` and `y` turn 0..1 into pixels."""

    width, height = 360.0, 300.0
    left, right, top, bottom = 54.0, 12.0, 12.0, 42.0

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
