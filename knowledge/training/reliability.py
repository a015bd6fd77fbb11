"""Whether probabilities say how often they come true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
BINS = 10
_LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class Bin:
    """What was given probabilities of one tenth of the scale: their mean, the share that was right, how many."""

    mean: float
    right: float
    count: int


@dataclass(frozen=True, slots=True)
class Reliability:
    """How well probabilities fit what was right."""

    count: int
    base: float
    """Share that was right: what one would say of each without looking."""
    log_loss: float
    """Mean negative log of the probability given to what came true; smaller is better."""
    base_log_loss: float
    """The same of always saying `base`."""
    ece: float
    """Expected calibration error: mean distance of a bin's probability from its share, weighted by its size."""
    bins: tuple[Bin, ...]
    """Those that hold something, from 0 to 1."""

    def __str__(self) -> str:
        """The figures on one line, each bin on a line of its own."""
        head = (
            f"{self.count}, {self.base:.3f} right; log loss {self.log_loss:.3f}, "
            f"of the base rate {self.base_log_loss:.3f}; calibration error {self.ece:.3f}"
        )
        return "\n".join([head, *(f"  {b.mean:.2f} said, {b.right:.2f} right, {b.count}" for b in self.bins)])


def reliability(p: Sequence[float], right: Sequence[bool]) -> Reliability | None:
    """Measure probabilities against what was right; None where there are none."""
    if not len(p):
        return None
    given, hits = np.asarray(p, float), np.asarray(right, float)
    place = np.minimum((given * BINS).astype(int), BINS - 1)
    inside = [place == n for n in range(BINS) if (place == n).any()]
    bins = tuple(Bin(float(given[at].mean()), float(hits[at].mean()), int(at.sum())) for at in inside)
    base = float(hits.mean())
    return Reliability(
        count=len(given),
        base=base,
        log_loss=_log_loss(given, hits),
        base_log_loss=_log_loss(np.full(len(given), base), hits),
        ece=sum(abs(one.mean - one.right) * one.count for one in bins) / len(given),
        bins=bins,
    )


def _log_loss(p: Array, hits: Array) -> float:
    p = np.clip(p, _LEAST, 1 - _LEAST)
    return float(-np.mean(hits * np.log(p) + (1 - hits) * np.log(1 - p)))
