"""What the LLM may cost: reserved before a call at its worst, settled after it at what it was."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from llm.faults import BudgetSpent
from llm.values import ChatRequest, LlmConfig, Tokens

EVERYWHERE = ""
"""The scope of the whole installation; other scopes are repositories ("owner/name")."""


class Ledger(Protocol):
    """The hole where spending is kept; all processes of an installation share one."""

    def reserve(self, day: str, limits: Mapping[str, float | None], amount: float) -> bool:
        """Add `amount` dollars to every scope, unless that takes one above its limit; then add nothing."""

    def settle(self, day: str, scopes: tuple[str, ...], change: float) -> None:
        """Correct every scope by `change` dollars, mostly downwards."""

    def spent(self, day: str, scope: str) -> float:
        """Dollars of a scope on that day, reservations included."""


class MemoryLedger:
    """A ledger of one process, for tests and measurements."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spent: defaultdict[tuple[str, str], float] = defaultdict(float)

    def reserve(self, day: str, limits: Mapping[str, float | None], amount: float) -> bool:
        """See the protocol."""
        with self._lock:
            if any(limit is not None and self._spent[day, s] + amount > limit for s, limit in limits.items()):
                return False
            for scope in limits:
                self._spent[day, scope] += amount
            return True

    def settle(self, day: str, scopes: tuple[str, ...], change: float) -> None:
        """See the protocol."""
        with self._lock:
            for scope in scopes:
                self._spent[day, scope] += change

    def spent(self, day: str, scope: str) -> float:
        """See the protocol."""
        with self._lock:
            return self._spent[day, scope]


@dataclass
class Bill:
    """What a call turned out to use; until told, the worst."""

    tokens: Tokens


@contextmanager
def within_budget(
    config: LlmConfig, ledger: Ledger, day: str, scope: str, request: ChatRequest
) -> Iterator[Bill]:
    """A block that may cost what the budget still holds; set the bill's tokens before it ends.

    Raises `BudgetSpent` when the worst case does not fit. A process that dies inside leaves the worst booked.
    """
    worst = Tokens(request.estimated, config.max_output)
    limits: dict[str, float | None] = {EVERYWHERE: config.daily_budget}
    if scope:
        limits[scope] = config.repository_daily_budget
    amount = config.cost(worst)
    if not ledger.reserve(day, limits, amount):
        raise BudgetSpent
    bill = Bill(worst)
    try:
        yield bill
    finally:
        ledger.settle(day, tuple(limits), config.cost(bill.tokens) - amount)
