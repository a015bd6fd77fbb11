"""The rule by which the LLM's default is decided."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eval.compare import Difference
from eval.protocol import UsageSummary, sum_up
from eval.summary import DECIDING, LEAST, LEVEL, worth
from tests.eval.test_usage import usage


def took(used: int = 300, fabricated: int = 0) -> UsageSummary:
    summed = sum_up([usage()] * used + [usage(used=False, faults=["timeout"])] * 10)
    assert summed is not None
    return replace(summed, fabricated=fabricated)


def changed(axis: str, delta: float, half: float, p: float, metric: str = "top1") -> Difference:
    return Difference(axis, metric, 300, 0.6, 0.6 + delta, delta - half, delta + half, 5, 20, p)


NOTHING = [changed(axis, 0.0, 0.02, 1.0) for axis in DECIDING]
BETTER = changed("symptom", 0.08, 0.04, 0.001)


def test_a_significant_gain_turns_it_on() -> None:
    decided = worth([*NOTHING, BETTER], took())
    assert decided.use is True
    assert "symptom top1 0.600 to 0.680" in decided.why


def test_no_difference_turns_it_off() -> None:
    assert worth(NOTHING, took()).use is False


@pytest.mark.parametrize(
    "weak",
    [
        replace(BETTER, p=LEVEL / len(DECIDING)),  # McNemar's test alone does not carry it among five axes
        replace(BETTER, low=-0.001),  # nor does it without the bootstrap
        replace(BETTER, metric="top3"),  # the first id decides
        replace(BETTER, axis="distributed"),
    ],
)
def test_what_may_be_chance_does_not_turn_it_on(weak: Difference) -> None:
    assert worth([*NOTHING, weak], took()).use is False


def test_a_figure_that_is_significantly_worse_turns_it_off_whatever_was_gained() -> None:
    decided = worth([BETTER, changed("fix", -0.05, 0.03, 0.2, "top3")], took())
    assert decided.use is False
    assert "fix top3" in decided.why


def test_one_made_up_thing_that_came_out_turns_it_off() -> None:
    assert worth([BETTER], took(fabricated=1)).use is False


def test_too_few_answers_decide_nothing() -> None:
    assert worth([BETTER], took(used=LEAST - 1)).use is None
    assert worth([BETTER], took(used=LEAST)).use is True
