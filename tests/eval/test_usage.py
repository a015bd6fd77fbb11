"""What an LLM took and made up, summed up."""

from __future__ import annotations

import pytest

from eval.protocol import CallUsage, Usage, sum_up, sum_up_duties


def usage(**changes: object) -> Usage:
    values: dict[str, object] = {
        "used": True,
        "asked": True,
        "cached": False,
        "tokens_in": 1000,
        "tokens_out": 100,
        "cost": 0.002,
        "seconds": 1.0,
    }
    return Usage.model_validate({**values, **changes})


def call(duty: str = "reader", **changes: object) -> CallUsage:
    values = {"kept": False, "tokens_in": 1000, "tokens_out": 100, "cost": 0.002, "seconds": 1.0}
    return CallUsage.model_validate({"duty": duty, **values, **changes})


UNKNOWN = {"kept": True, "tokens_in": None, "tokens_out": None, "cost": None, "seconds": None}


def test_each_duty_is_summed_up_by_itself_over_what_is_known() -> None:
    usages = [
        usage(calls=[call(), call("adjudicator", tokens_in=4000)]),
        usage(calls=[call(seconds=9.0, failed=True), call("adjudicator", kept=True, estimated=True)]),
        usage(calls=[call(seconds=2.0), call("adjudicator", **UNKNOWN)]),
    ]
    found = sum_up_duties(usages, priced=True)
    reader, adjudicator = found["reader"], found["adjudicator"]
    assert (reader.calls, reader.failed, reader.measured, reader.recorded) == (3, 1, 3, 0)
    assert (reader.tokens_in, reader.tokens_out, reader.cost) == (3000, 300, pytest.approx(0.006))
    assert (reader.p50, reader.p95) == (2.0, pytest.approx(8.3))
    assert (adjudicator.calls, adjudicator.measured, adjudicator.recorded) == (3, 2, 1)
    assert (adjudicator.tokens_in, adjudicator.estimated) == (5000, 1)


def test_a_duty_of_which_nothing_is_known_has_no_figures() -> None:
    one = sum_up_duties([usage(calls=[call(**UNKNOWN)])] * 2, priced=True)["reader"]
    assert (one.calls, one.measured) == (2, 0)
    assert (one.tokens_in, one.tokens_out, one.cost, one.p50, one.p95) == (None,) * 5


def test_without_a_price_a_duty_has_no_dollars() -> None:
    assert sum_up_duties([usage(calls=[call()])], priced=False)["reader"].cost is None


def test_without_an_llm_there_is_nothing_to_sum_up() -> None:
    assert sum_up([]) is None


def test_means_and_times_are_over_reports_that_were_asked_about() -> None:
    cached = usage(cached=True, asked=False, tokens_in=0, tokens_out=0, cost=0.0, seconds=0.01)
    spent = usage(
        used=False, asked=False, tokens_in=0, tokens_out=0, cost=0.0, seconds=0.0, faults=["budget_spent"]
    )
    slow = usage(seconds=9.0, tokens_in=3000)
    summed = sum_up([usage(), usage(), slow, cached, cached, spent])
    assert summed is not None
    assert (summed.reports, summed.used, summed.fresh, summed.cached) == (6, 5, 3, 2)
    assert summed.cost == pytest.approx(0.006)
    assert summed.cost_each == pytest.approx(0.002)
    assert summed.tokens_in == pytest.approx(5000 / 3)
    assert summed.p50 == 1.0
    assert summed.p95 == pytest.approx(8.2)
    assert summed.fallbacks == 1
    assert summed.fallback_rate == pytest.approx(1 / 6)


def test_a_run_out_of_the_cache_has_no_times_and_no_prices() -> None:
    summed = sum_up([usage(cached=True, asked=False)] * 3)
    assert summed is not None
    assert (summed.p50, summed.p95, summed.cost_each, summed.tokens_in) == (None, None, None, None)


def test_raw_fabrications_and_what_came_out_are_counted_apart() -> None:
    summed = sum_up(
        [
            usage(made_up=3, voided=True),
            usage(made_up=1),
            usage(voided=True, used=False, faults=["unknown_ids"]),
        ]
    )
    assert summed is not None
    assert (summed.made_up, summed.voided, summed.fabricated, summed.fabrication_rate) == (4, 2, 0, 0.0)
    broken = sum_up([usage(fabricated=2), usage()])
    assert broken is not None and broken.fabrication_rate == 0.5


def test_faults_are_counted_by_word_most_frequent_first() -> None:
    some = [
        usage(used=False, faults=["timeout"]),
        usage(faults=["truncated"]),
        usage(used=False, faults=["timeout"]),
    ]
    summed = sum_up(some)
    assert summed is not None
    assert list(summed.faults.items()) == [("timeout", 2), ("truncated", 1)]
    assert (summed.fallbacks, summed.partial) == (2, 1)
