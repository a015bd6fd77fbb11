"""Bootstrap intervals: groups are drawn with replacement, never parts of one (Efron and Tibshirani, 1993)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eval.metrics import Metric, share
from eval.scored import Scored

Array = npt.NDArray[np.float64]
REPLICATES = 1000
_SEED = 20230101


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval; `value` None = nothing could be scored."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0

    def __str__(self) -> str:
        """ "0.78 (0.72-0.83)", or a dash."""
        if self.value is None:
            return "–"
        return (
            f"{self.value:.2f}" if self.low is None else f"{self.value:.2f} ({self.low:.2f}–{self.high:.2f})"
        )


def group_weights(group: npt.NDArray[np.int64], replicates: int = REPLICATES) -> Array:
    """How often each case counts in each replicate, (replicates, n); the same draws for the same groups."""
    if not len(group):
        return np.zeros((replicates, 0))
    groups = int(group.max()) + 1
    drawn = np.random.default_rng(_SEED).multinomial(groups, np.full(groups, 1 / groups), size=replicates)
    return drawn[:, group].astype(float)


def estimate(metric: Metric, s: Scored, weights: Array) -> Estimate:
    """The figure and its percentile interval over `weights` (`group_weights` of the cases); a single group has none."""
    if not len(s):
        return Estimate(None)
    value = float(metric(s, np.ones((1, len(s))))[0])
    if np.isnan(value):
        return Estimate(None, n=len(s))
    if (weights == 1).all():
        return Estimate(value, n=len(s))
    drawn = metric(s, weights)
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return Estimate(value, float(low), float(high), len(s))


def share_of(hits: Sequence[bool], groups: Sequence[int]) -> Estimate:
    """A share and its percentile interval, groups drawn as a whole, in their order; a dash where there is nothing."""
    if not hits:
        return Estimate(None)
    values = np.array(hits, float)
    numbered = np.unique(groups, return_inverse=True)[1].astype(np.int64)
    low, high = np.percentile(share(values, np.ones(len(values)), group_weights(numbered)), [2.5, 97.5])
    return Estimate(float(values.mean()), float(low), float(high), len(values))
