"""How many calls a token has left in the present minute."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

WINDOW_S = 60.0


class RateLimit:
    """At most `limit` calls of each key in any minute; for one process and its event loop."""

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._calls: dict[int, deque[float]] = {}

    def wait(self, key: int) -> float:
        """Seconds until this key may call again; 0.0 counts the call."""
        now = self._clock()
        calls = self._calls.setdefault(key, deque())
        while calls and calls[0] <= now - WINDOW_S:
            calls.popleft()
        if len(calls) >= self._limit:
            return calls[0] + WINDOW_S - now
        calls.append(now)
        return 0.0
