"""Writes are spent from a budget that all workers of an installation share."""

from __future__ import annotations

from bot.github.errors import TryAgain
from bot.github.ports import Ports


def spend(ports: Ports, installation_id: int, count: int) -> None:
    """Take `count` writes, or `TryAgain` with the seconds until there are so many."""
    wait = ports.store.take_writes(installation_id, count, ports.clock.now())
    if wait > 0:
        raise TryAgain("the installation's write budget is spent", after=wait)
