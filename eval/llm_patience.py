"""Patience with a server that is measured: nobody waits for the answer, so a pause of it costs no report."""

from __future__ import annotations

import threading
from collections.abc import Callable

from eval.llm_answers import Answer
from knowledge.errors import UserError
from llm.breaker import Breaker
from llm.config import LlmConfig
from llm.faults import BreakerOpen
from llm.values import Clock

WAITS = 2
"""How often in a row the breaker is waited for without an answer in between."""
_STEP = 0.5
"""Seconds between two looks at the breaker."""


class Patience:
    """Asks again where the circuit breaker kept a question back; gives up when waiting did not help. Thread-safe."""

    def __init__(self, config: LlmConfig, breaker: Breaker, clock: Clock) -> None:
        self._config = config
        self._breaker = breaker
        self._clock = clock
        self._lock = threading.Lock()
        self._ever = False
        self._vain = 0
        self._last = "unreachable"

    def answer(self, ask: Callable[[], Answer]) -> Answer:
        """The answer of `ask`. UserError when the server never gave one, or waiting did not help."""
        while True:
            self._wait()
            answer = ask()
            usage = answer.verdict.usage
            faults = usage.faults if usage else []
            if usage is not None and usage.used:
                self._ever, self._vain = True, 0
            if BreakerOpen.reason not in faults:
                self._last = faults[0] if faults else self._last
                return answer

    def _wait(self) -> None:
        with self._lock:
            if not self._breaker.is_open(self._clock.monotonic()):
                return
            self._vain += 1
            if not self._ever or self._vain > WAITS:
                raise UserError(
                    f"{self._config.model} at {self._config.base_url} gives no answer: {self._last}.",
                    "docs/llm.md says what the word means. Nothing was measured.",
                )
            while self._breaker.is_open(self._clock.monotonic()):
                self._clock.sleep(_STEP)
