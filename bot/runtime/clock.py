"""The time of the real world, for the edges that need one."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """`bot.ports.Clock` by the machine's clock."""

    def now(self) -> datetime:
        """Now, UTC."""
        return datetime.now(UTC)
