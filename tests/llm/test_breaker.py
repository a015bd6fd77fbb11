"""The circuit breaker over time."""

from __future__ import annotations

import pytest

from llm.calls import BAD_REPLY_LIMIT, FIRST_PAUSE, UNAVAILABLE_LIMIT, Breaker
from llm.faults import BreakerOpen, Busy, InvalidJson, LlmFault, RateLimited, ServerError


def call(breaker: Breaker, now: float, fault: LlmFault | None = None) -> bool:
    """Whether the call was let through."""
    try:
        with breaker.watching(lambda: now):
            if fault is not None:
                raise fault
    except BreakerOpen:
        return False
    except LlmFault:
        pass
    return True


def opened() -> Breaker:
    breaker = Breaker()
    for _ in range(UNAVAILABLE_LIMIT):
        assert call(breaker, 0, ServerError())
    return breaker


def test_a_row_of_failures_opens_it_for_a_pause() -> None:
    breaker = opened()
    assert breaker.is_open(1)
    assert not call(breaker, FIRST_PAUSE - 1)
    assert call(breaker, FIRST_PAUSE + 1)
    assert call(breaker, FIRST_PAUSE + 2)


def test_a_success_between_failures_keeps_it_closed() -> None:
    breaker = Breaker()
    for _ in range(5):
        call(breaker, 0, ServerError())
        call(breaker, 0, ServerError())
        call(breaker, 0)
    assert not breaker.is_open(0)


def test_a_failed_trial_opens_it_for_longer() -> None:
    breaker = opened()
    assert call(breaker, FIRST_PAUSE + 1, ServerError())
    assert not call(breaker, 2 * FIRST_PAUSE + 2)
    assert call(breaker, 3 * FIRST_PAUSE + 2)


def test_one_trial_at_a_time() -> None:
    breaker = opened()
    now = FIRST_PAUSE + 1
    with breaker.watching(lambda: now):
        assert not call(breaker, now)
    assert call(breaker, now)


def test_a_defect_inside_a_trial_does_not_jam_it() -> None:
    breaker = opened()
    now = FIRST_PAUSE + 1
    with pytest.raises(KeyError), breaker.watching(lambda: now):
        raise KeyError
    assert call(breaker, now)


def test_retry_after_is_kept() -> None:
    breaker = Breaker()
    call(breaker, 0, RateLimited(after=30))
    assert not call(breaker, 29)
    assert call(breaker, 31)
    assert call(breaker, 31)


def test_bad_replies_open_it_only_in_a_long_row() -> None:
    breaker = Breaker()
    for _ in range(BAD_REPLY_LIMIT - 1):
        assert call(breaker, 0, InvalidJson())
    assert not breaker.is_open(0)
    call(breaker, 0, InvalidJson())
    assert breaker.is_open(0)


def test_what_was_never_asked_says_nothing_of_the_server() -> None:
    breaker = Breaker()
    for _ in range(50):
        call(breaker, 0, Busy())
    assert not breaker.is_open(0)
