"""A clock that stands still until somebody waits, and a client that answers from a list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from llm.faults import LlmFault
from llm.values import ChatReply, ChatRequest


@dataclass
class StillClock:
    time: float = 0.0
    day: str = "2026-01-31"
    waits: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.time

    def today(self) -> str:
        return self.day

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds


class ListClient:
    """Raises or returns one item a call; each call takes `takes` seconds of the clock."""

    def __init__(self, clock: StillClock, items: Iterable[ChatReply | LlmFault], takes: float = 0.0) -> None:
        self._clock = clock
        self._items = iter(items)
        self._takes = takes
        self.asked: list[ChatRequest] = []
        self.seconds: list[float] = []

    def complete(self, request: ChatRequest, seconds: float) -> ChatReply:
        self.asked.append(request)
        self.seconds.append(seconds)
        self._clock.time += self._takes
        item = next(self._items)
        if isinstance(item, LlmFault):
            raise item
        return item
