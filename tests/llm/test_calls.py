"""One question with everything around it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llm import faults
from llm.budget import EVERYWHERE, MemoryLedger
from llm.calls import PAUSE, Call, Caller, FileCache, NoCache
from llm.faults import LlmFault
from llm.values import ChatReply, ChatRequest, LlmConfig, Tokens, Took
from tests.llm.still_clock import ListClient, StillClock

ASKED = ChatRequest("reader", "s", "u", {}, "content")
CONFIG = LlmConfig("http://x", "m", price_input=1000.0, price_output=1000.0, max_output=300)
GOOD = ChatReply('{"a": 1}', Tokens(100, 50))


class Desk:
    """A caller and all its parts."""

    def __init__(
        self,
        items: Iterable[ChatReply | LlmFault],
        config: LlmConfig = CONFIG,
        folder: Path | None = None,
        takes: float = 0.0,
    ) -> None:
        self.clock = StillClock()
        self.client = ListClient(self.clock, items, takes)
        self.ledger = MemoryLedger()
        cache = FileCache(folder, config) if folder else NoCache()
        self.caller = Caller(config, self.client, cache, self.ledger, self.clock)

    def ask(self, until: float = 10.0) -> Any:
        return self.caller.ask(ASKED, read, "acme/train", until)

    @property
    def spent(self) -> float:
        return self.ledger.spent("2026-01-31", EVERYWHERE)


def read(value: dict[str, Any]) -> int:
    if "a" not in value:
        raise faults.WrongSchema
    return int(value["a"])


def test_an_answer_is_read_and_paid() -> None:
    desk = Desk([GOOD])
    answered = desk.ask()
    assert (answered.value, answered.took, answered.cached) == (1, Took(Tokens(100, 50), 0.0), False)
    assert desk.spent == pytest.approx(0.15)


def test_an_answer_tells_its_seconds_with_the_second_attempt_and_the_pause() -> None:
    desk = Desk([faults.ServerError(), GOOD], takes=2.0)
    assert desk.ask().took == Took(Tokens(100, 50), pytest.approx(4.0 + PAUSE))


def test_a_question_that_failed_tells_its_seconds_and_tokens() -> None:
    desk = Desk([ChatReply("no", Tokens(90, 3))], takes=2.0)
    with pytest.raises(faults.InvalidJson) as failed:
        desk.ask()
    call = Call.failed("reader", failed.value)
    assert call.took == Took(Tokens(90, 3), 2.0)
    assert call.asked and call.spent == Tokens(90, 3)


def test_a_question_that_was_not_put_took_nothing() -> None:
    desk = Desk([GOOD], takes=2.0)
    with pytest.raises(faults.NoTime) as failed:
        desk.ask(until=0.1)
    call = Call.failed("reader", failed.value)
    assert (call.asked, call.spent) == (False, Tokens())


def test_the_same_question_is_not_paid_for_twice(tmp_path: Path) -> None:
    desk = Desk([GOOD], folder=tmp_path)
    desk.ask()
    again = desk.ask()
    assert (again.value, again.took, again.cached) == (1, None, True)
    assert len(desk.client.asked) == 1
    assert desk.spent == pytest.approx(0.15)


def test_a_reply_that_was_of_no_use_is_not_kept(tmp_path: Path) -> None:
    desk = Desk([ChatReply('{"b": 1}', Tokens(1, 1)), GOOD], folder=tmp_path)
    with pytest.raises(faults.WrongSchema):
        desk.ask()
    assert desk.ask().cached is False


def test_a_kept_reply_is_checked_again(tmp_path: Path) -> None:
    desk = Desk([GOOD, GOOD], folder=tmp_path)
    desk.ask()
    next(tmp_path.glob("*/*.json")).write_text('{"b": 1}')
    assert desk.ask().cached is False


def test_words_of_no_use_cost_all_the_same() -> None:
    desk = Desk([ChatReply("no json", Tokens(100, 50))])
    with pytest.raises(faults.InvalidJson) as caught:
        desk.ask()
    assert caught.value.tokens == Tokens(100, 50)
    assert desk.spent == pytest.approx(0.15)


@pytest.mark.parametrize("fault", [faults.ServerError(), faults.Unreachable(), faults.RateLimited(2.0)])
def test_a_passing_fault_gets_a_second_attempt(fault: LlmFault) -> None:
    desk = Desk([fault, GOOD])
    assert desk.ask().value == 1
    assert desk.clock.waits == [2.0 if isinstance(fault, faults.RateLimited) else 0.3]


def test_a_first_attempt_that_broke_is_paid_and_told_with_the_second() -> None:
    desk = Desk([faults.Unreachable(Tokens(100, 30)), GOOD])
    assert desk.ask().took.tokens == Tokens(200, 80)
    assert desk.spent == pytest.approx(0.28)


def test_two_broken_attempts_are_both_paid_and_told() -> None:
    desk = Desk([faults.Unreachable(Tokens(100, 30)), faults.ServerError(Tokens(100, 10))])
    with pytest.raises(faults.ServerError) as caught:
        desk.ask()
    assert caught.value.tokens == Tokens(200, 40)
    assert desk.spent == pytest.approx(0.24)


def test_the_budget_is_asked_before_the_second_attempt_too() -> None:
    desk = Desk([faults.Unreachable(Tokens(100, 30)), GOOD], replace(CONFIG, daily_budget=0.4))
    with pytest.raises(faults.BudgetSpent) as caught:
        desk.ask()
    assert (len(desk.client.asked), caught.value.tokens) == (1, Tokens(100, 30))
    assert Call.failed("reader", caught.value).asked, "the first attempt was"
    assert desk.spent == pytest.approx(0.13)


@pytest.mark.parametrize("fault", [faults.TimedOut(), faults.Denied(), faults.WrongModel(), faults.Refused()])
def test_other_faults_get_none(fault: LlmFault) -> None:
    desk = Desk([fault, GOOD])
    with pytest.raises(type(fault)):
        desk.ask()
    assert len(desk.client.asked) == 1


def test_a_retry_after_beyond_the_time_is_not_waited_for_and_kept_for_later() -> None:
    desk = Desk([faults.RateLimited(60.0), GOOD])
    with pytest.raises(faults.RateLimited):
        desk.ask()
    assert desk.clock.waits == []
    with pytest.raises(faults.BreakerOpen):
        desk.ask()
    desk.clock.time = 61
    assert desk.ask(until=70).value == 1


def test_the_client_gets_what_is_left_of_the_time() -> None:
    desk = Desk([faults.ServerError(), GOOD])
    desk.ask(until=10.0)
    assert desk.client.seconds == [10.0, pytest.approx(9.7)]


def test_without_time_nobody_is_asked_and_nothing_is_paid() -> None:
    desk = Desk([GOOD])
    with pytest.raises(faults.NoTime):
        desk.ask(until=0.1)
    assert (desk.client.asked, desk.spent) == ([], 0.0)


def test_the_budget_is_asked_first() -> None:
    desk = Desk([GOOD], replace(CONFIG, daily_budget=0.1))
    with pytest.raises(faults.BudgetSpent):
        desk.ask()
    assert desk.client.asked == []


def test_a_server_that_fails_three_times_is_left_alone() -> None:
    desk = Desk([faults.TimedOut()] * 3 + [GOOD])
    for _ in range(3):
        with pytest.raises(faults.TimedOut):
            desk.ask()
    with pytest.raises(faults.BreakerOpen):
        desk.ask()
    assert len(desk.client.asked) == 3


def test_a_fault_before_any_word_costs_nothing() -> None:
    desk = Desk([faults.Denied()])
    with pytest.raises(faults.Denied):
        desk.ask()
    assert desk.spent == pytest.approx(0)


def test_a_timeout_costs_what_it_probably_was() -> None:
    desk = Desk([faults.TimedOut(Tokens(100, 7))])
    with pytest.raises(faults.TimedOut):
        desk.ask()
    assert desk.spent == pytest.approx(0.107)


def test_slots_bound_the_calls_beside_each_other() -> None:
    inside, leave = threading.Event(), threading.Event()

    class Waiting(ListClient):
        def complete(self, request: ChatRequest, seconds: float) -> ChatReply:
            inside.set()
            leave.wait(10)
            return GOOD

    clock = StillClock()
    caller = Caller(replace(CONFIG, concurrency=1), Waiting(clock, []), NoCache(), MemoryLedger(), clock)
    first = threading.Thread(target=lambda: caller.ask(ASKED, read, "", 10))
    first.start()
    assert inside.wait(10)
    with pytest.raises(faults.Busy):
        caller.ask(ASKED, read, "", 0.5)
    leave.set()
    first.join()
    assert caller.ask(ASKED, read, "", 10).value == 1
