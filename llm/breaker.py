"""The circuit breaker: a server that keeps failing is left alone for a while, then tried once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llm.faults import BadReply, BreakerOpen, LlmFault, RateLimited, Unavailable

UNAVAILABLE_LIMIT = 3
BAD_REPLY_LIMIT = 20
"""Bad replies may be one report's doing; only a long row of them says that the model is of no use."""
FIRST_PAUSE = 60.0
LONGEST_PAUSE = 900.0


class Breaker:
    """Closed, open until a moment, or half-open: then one call goes through and decides. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._row = {Unavailable: 0, BadReply: 0}
        self._open_until = float("-inf")
        self._pause = FIRST_PAUSE
        self._half_open = False
        self._trial = False

    @contextmanager
    def watching(self, now: Callable[[], float]) -> Iterator[None]:
        """Around a call: raises `BreakerOpen` instead of it, and learns from how it ends."""
        self._enter(now())
        try:
            yield
        except LlmFault as fault:
            self._failure(fault, now())
            raise
        else:
            self._success()
        finally:
            with self._lock:
                self._trial = False

    def _enter(self, now: float) -> None:
        with self._lock:
            if now < self._open_until or self._trial:
                raise BreakerOpen
            self._trial = self._half_open

    def _success(self) -> None:
        with self._lock:
            self._row = dict.fromkeys(self._row, 0)
            self._pause = FIRST_PAUSE
            self._half_open = False

    def _failure(self, fault: LlmFault, now: float) -> None:
        with self._lock:
            if isinstance(fault, RateLimited) and fault.after is not None:
                self._open_until = max(self._open_until, now + min(fault.after, LONGEST_PAUSE))
            for kind, limit in ((Unavailable, UNAVAILABLE_LIMIT), (BadReply, BAD_REPLY_LIMIT)):
                if isinstance(fault, kind):
                    self._row[kind] += 1
                    if self._row[kind] >= limit or (self._half_open and kind is Unavailable):
                        self._open(now)

    def is_open(self, now: float) -> bool:
        """Whether a call would be refused now."""
        with self._lock:
            return now < self._open_until or self._trial

    def _open(self, now: float) -> None:
        self._open_until = max(self._open_until, now + self._pause)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        self._row = dict.fromkeys(self._row, 0)
        self._half_open = True
