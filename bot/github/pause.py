"""One pause for all threads that speak for an installation: after a rate limit nobody asks until it is over.

https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api#handle-rate-limit-errors-appropriately
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from bot.github.errors import GitHubError, TryAgain

_LIMITS = frozenset({403, 429})


class Pause:
    """Until when no request may be made; `clock` in seconds, only going forward."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until = float("-inf")
        self._status = 429
        self._lock = threading.Lock()

    def check(self) -> None:
        """Raise `TryAgain` with the seconds left, while there are any; nothing was written then."""
        with self._lock:
            left = self._until - self._clock()
            if left > 0:
                raise TryAgain("GitHub's rate limit is waited for", after=left, status=self._status)

    def learn(self, error: GitHubError) -> None:
        """Pause for as long as a rate limit asks; any other error changes nothing."""
        if isinstance(error, TryAgain) and error.status in _LIMITS:
            with self._lock:
                self._until = max(self._until, self._clock() + error.after)
                self._status = error.status
