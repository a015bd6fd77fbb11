"""Whether P(same failure) is right as often as it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from knowledge.history.learner import Prediction

Array = npt.NDArray[np.float64]

EDGES = (0.02, 0.08, 0.2, 0.4, 0.6, 0.8)
"""Between the bins. Most pairs are far apart, so the bins are narrow where P is low."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Pairs with about the same P."""

    pairs: int
    right: int
    """Those that are the same failure."""
    mean: float
    """Of P."""

    @property
    def share(self) -> float:
        """Of the pairs, those that are the same failure."""
        return self.right / self.pairs


@dataclass(frozen=True, slots=True)
class Calibration:
    """How P(same failure) and what is the same agree."""

    bins: tuple[Bin, ...]
    """Those with pairs, the lowest P first."""
    loss: float
    """Mean log-loss of a pair."""
    base_loss: float
    """The same where every pair gets the share of all that are the same."""

    def error(self, least: float = 0.0) -> float:
        """Expected calibration error: how far P is from the share in its bin, averaged over pairs.

        `least`: over bins with such a mean P and more; the many pairs that are far apart hide the others.
        """
        bins = [one for one in self.bins if one.mean >= least]
        apart = sum(one.pairs * abs(one.mean - one.share) for one in bins)
        return apart / max(1, sum(one.pairs for one in bins))


def calibration(p: Array, same: npt.NDArray[np.bool_]) -> Calibration | None:
    """Measure it; None where all pairs are the same, or none is."""
    if same.all() or not same.any():
        return None
    place = np.searchsorted(EDGES, p, side="right")
    held = [place == n for n in np.unique(place)]
    bins = [Bin(int(of.sum()), int(same[of].sum()), float(p[of].mean())) for of in held]
    base = np.full(len(p), same.mean())
    return Calibration(tuple(bins), log_loss(p, same), log_loss(base, same))


def log_loss(p: Array, same: npt.NDArray[np.bool_]) -> float:
    """Mean of -log of what was given to what came true."""
    given = np.clip(np.where(same, p, 1 - p), 1e-9, 1)
    return float(-np.log(given).mean())


def pairs_of(predictions: Sequence[Prediction]) -> tuple[Array, npt.NDArray[np.bool_]]:
    """P of all pairs that could be shown, and whether they are the same."""
    p = np.concatenate([np.zeros(0), *(one.p for one in predictions)])
    return p, np.concatenate([np.zeros(0, bool), *(one.same for one in predictions)])
