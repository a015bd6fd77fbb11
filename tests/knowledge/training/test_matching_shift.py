"""The shift of what only sounds like a known failure."""

from __future__ import annotations

import numpy as np
import pytest

from knowledge.findings.matcher import probability
from knowledge.findings.pairs import NAMES, Pairs
from knowledge.training.matching import Judged, fit_shift, held_out_shifted, shifted

RIGHT = 0.1
"""Share of the reports that show the failure, though 0.5 is said of each."""


def report(n: int, *, lined: bool, right: bool, real: bool = True) -> Judged:
    values = np.zeros((1, len(NAMES)))
    values[0, NAMES.index("constant")] = 1.0
    values[0, NAMES.index("line_in_log")] = float(lined)
    pairs = Pairs(("a",), values, ((3,) if lined else (),), ((),))
    return Judged(f"o/r#{n}", pairs, frozenset({"a"} if right else ()), 1.0, real)


BARE = [report(n, lined=False, right=n % 10 == 0) for n in range(200)]
LINED = [report(1000 + n, lined=True, right=True) for n in range(20)]
ALL = [*BARE, *LINED]
SAID = [np.array([0.5])] * len(ALL)


def test_the_shift_makes_what_has_no_line_as_probable_as_it_comes_true() -> None:
    p = 1 / (1 + np.exp(-fit_shift(ALL, SAID)))
    assert p == pytest.approx(RIGHT, abs=0.005)
    assert fit_shift([report(n, lined=False, right=False, real=False) for n in range(9)], SAID[:9]) == 0.0


def test_only_what_has_no_line_is_shifted() -> None:
    told = held_out_shifted(ALL, SAID)
    assert all(p[0] == pytest.approx(RIGHT, abs=0.05) for p in told[: len(BARE)])
    assert all(p[0] == 0.5 for p in told[len(BARE) :])
    weights = shifted(np.zeros(len(NAMES)), -2.0)
    assert probability(LINED[0].pairs.values, weights)[0] == pytest.approx(0.5)
    assert probability(BARE[0].pairs.values, weights)[0] == pytest.approx(1 / (1 + np.exp(2)))
