"""The comment's own words by language, from frame.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parent / "frame.toml"


@cache
def frames() -> dict[str, dict[str, str]]:
    """Language to key to text; every language has the same keys."""
    with _FILE.open("rb") as file:
        return tomllib.load(file)


class Frame:
    """One language's words: `frame("fix", name=...)` fills a text in."""

    def __init__(self, language: str) -> None:
        self._texts = frames()[language]

    def __call__(self, key: str, **values: object) -> str:
        """The text of a key with its placeholders filled; what is filled in must have been quoted before."""
        return self._texts[key].format(**values)

    def how_sure(self, p: float) -> str:
        """A probability in words and per cent; never 100 %."""
        words = ((0.9, "almost_certain"), (0.7, "probable"), (0.5, "likelier"), (0.0, "possible"))
        key = next((word for least, word in words if p >= least), "possible")
        return self(key, percent=min(99, max(1, round(100 * p))))
