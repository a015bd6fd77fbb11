"""The time of the real world."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class RealClock:
    """`llm.values.Clock` by the machine."""

    def monotonic(self) -> float:
        """Seconds from a fixed start."""
        return time.monotonic()

    def today(self) -> str:
        """The day in UTC."""
        return datetime.now(UTC).date().isoformat()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
