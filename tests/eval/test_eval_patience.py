"""A server that pauses costs an evaluation no report; one that is dead ends it at once."""

from __future__ import annotations

from collections import deque

import pytest

from eval.llm_systems import Answer, Patience
from eval.protocol import Verdict
from knowledge.errors import UserError
from llm.calls import FIRST_PAUSE, UNAVAILABLE_LIMIT, Breaker
from llm.faults import Denied, LlmFault, ServerError
from llm.values import LlmConfig
from tests.eval.test_usage import usage
from tests.llm.still_clock import StillClock

CONFIG = LlmConfig("http://x/v1", "acme-7b")


class Bench:
    """Questions through a breaker to a server that fails as the list says (None: it answers), for ever at its end."""

    def __init__(self, *faults: LlmFault | None) -> None:
        self.clock = StillClock()
        self.breaker = Breaker()
        self.asked = 0
        self._faults = deque(faults)
        self._patience = Patience(CONFIG, self.breaker, self.clock)

    def answer(self) -> list[str]:
        told = self._patience.answer(self._ask).verdict.usage
        assert told is not None
        return told.faults

    def _ask(self) -> Answer:
        try:
            with self.breaker.watching(self.clock.monotonic):
                self.asked += 1
                fault = self._faults.popleft() if len(self._faults) > 1 else self._faults[0]
                if fault:
                    raise fault
        except LlmFault as fault:
            return Answer(Verdict({}, (), usage(used=False, faults=[fault.reason])))
        return Answer(Verdict({}, (), usage()))


def test_a_pause_is_waited_for_and_the_question_put_then() -> None:
    bench = Bench(None, *[ServerError()] * UNAVAILABLE_LIMIT, None)
    told = [bench.answer() for _ in range(5)]
    assert told == [[], ["server_error"], ["server_error"], ["server_error"], []]
    assert bench.clock.time == pytest.approx(FIRST_PAUSE, abs=1)


def test_a_server_that_never_answered_ends_the_run_and_says_why() -> None:
    bench = Bench(Denied())
    for _ in range(UNAVAILABLE_LIMIT):
        bench.answer()
    with pytest.raises(UserError, match="acme-7b at http://x/v1 doesn't answer: denied"):
        bench.answer()
    assert bench.clock.time == 0


def test_waiting_that_does_not_help_has_an_end() -> None:
    bench = Bench(None, ServerError())
    with pytest.raises(UserError, match="server_error"):
        for _ in range(20):
            bench.answer()
    assert bench.clock.time < 600
