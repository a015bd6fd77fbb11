"""Two systems on the same cases: paired bootstrap over groups, and McNemar's exact test."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from eval.bootstrap import REPLICATES, group_weights
from eval.predictions import CasePrediction, Predictions
from eval.protocol import SCORED
from eval.scored import scored
from knowledge.errors import UserError

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Difference:
    """B minus A on `n` common cases, with a 95 % interval and McNemar's two-sided p.

    `only_a`, `only_b`: cases that one system gets right and the other does not.
    """

    axis: str
    metric: str
    n: int
    a: float
    b: float
    low: float
    high: float
    only_a: int
    only_b: int
    p: float

    @property
    def delta(self) -> float:
        """B minus A."""
        return self.b - self.a

    @property
    def significant(self) -> bool:
        """The interval leaves zero out."""
        return self.low > 0 or self.high < 0


def mcnemar(only_a: int, only_b: int) -> float:
    """Two-sided exact p of McNemar's test (Psychometrika 12, 1947): discordant cases as tosses of a fair coin."""
    n = only_a + only_b
    tail = sum(comb(n, k) for k in range(min(only_a, only_b) + 1))
    return min(1.0, tail / 2.0 ** (n - 1))


def difference(axis: str, metric: str, a: Flags, b: Flags, groups: list[str]) -> Difference:
    """Paired comparison of hits (n,) of two systems on the same cases in the same order."""
    number = {name: at for at, name in enumerate(dict.fromkeys(groups))}
    weights = group_weights(np.array([number[group] for group in groups], np.int64), 2 * REPLICATES)
    delta = b.astype(float) - a.astype(float)
    drawn = (weights @ delta) / weights.sum(axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    return Difference(
        axis, metric, len(a), float(a.mean()), float(b.mean()), float(low), float(high), only_a, only_b,
        mcnemar(only_a, only_b),
    )  # fmt: skip


def compare(a: Predictions, b: Predictions) -> list[Difference]:
    """B against A on every axis that both predicted. UserError when they have no case in common."""
    out = []
    for axis in SCORED:
        one, other = scored(a, axis), scored(b, axis)
        at_a = {_key(case, axis): at for at, case in enumerate(one.cases)}
        at_b = {_key(case, axis): at for at, case in enumerate(other.cases)}
        common = [key for key in at_a if key in at_b]
        if not common:
            continue
        rows_a, rows_b = [at_a[key] for key in common], [at_b[key] for key in common]
        groups = [one.cases[row].group for row in rows_a]
        out.append(difference(axis, "top1", one.hit1[rows_a], other.hit1[rows_b], groups))
        if axis in ("symptom", "cause", "fix"):
            out.append(difference(axis, "top3", one.hit3[rows_a], other.hit3[rows_b], groups))
    if not out:
        raise UserError("The two files share no scored cases.", "Compare runs on the same data.")
    return out


def _key(case: CasePrediction, axis: str) -> tuple[str, tuple[str, ...]]:
    """Cases are the same when id and labels are: runs on relabelled data do not compare."""
    return case.id, tuple(sorted(case.labels[axis]))
