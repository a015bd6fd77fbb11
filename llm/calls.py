"""One question to the LLM and all around it: cache, breaker, slot, budget, a second attempt, the check."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from llm.breaker import Breaker
from llm.budget import Ledger, within_budget
from llm.config import LlmConfig
from llm.faults import Busy, LlmFault, NoTime, RateLimited, Unavailable
from llm.parse import find_object
from llm.reply_cache import ReplyCache
from llm.values import ChatClient, ChatReply, ChatRequest, Clock, Tokens

LEAST_TIME = 0.2
"""Seconds below which it is not worth asking."""
PAUSE = 0.3
"""Seconds before the second attempt where the server does not say."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    """A checked answer; a cached one cost nothing."""

    value: T
    tokens: Tokens
    cached: bool = False


class Caller:
    """Asks; shared by all threads of a process."""

    def __init__(
        self, config: LlmConfig, client: ChatClient, cache: ReplyCache, ledger: Ledger, clock: Clock
    ) -> None:
        self.config = config
        self.breaker = Breaker()
        self._client = client
        self._cache = cache
        self._ledger = ledger
        self._clock = clock
        self._slots = threading.BoundedSemaphore(config.concurrency)

    def ask(
        self, request: ChatRequest, read: Callable[[dict[str, Any]], T], scope: str, until: float
    ) -> Answered[T]:
        """What `read` makes of the reply, before the moment `until`; raises `LlmFault`."""
        kept = self._cache.get(request)
        if kept is not None:
            try:
                return Answered(read(kept), Tokens(), cached=True)
            except LlmFault:
                kept = None  # kept under an older check
        with self._slot(until), self.breaker.watching(self._clock.monotonic):
            value, answer, tokens = self._paid(request, read, scope, until)
        self._cache.put(request, value)
        return Answered(answer, tokens)

    def _paid(
        self, request: ChatRequest, read: Callable[[dict[str, Any]], T], scope: str, until: float
    ) -> tuple[dict[str, Any], T, Tokens]:
        reply = self._attempts(request, scope, until)
        try:
            value = find_object(reply.text)
            return value, read(value), reply.tokens
        except LlmFault as fault:
            fault.tokens = reply.tokens
            raise

    def _attempts(self, request: ChatRequest, scope: str, until: float) -> ChatReply:
        """One attempt or two; the tokens are those of both."""
        try:
            return self._attempt(request, scope, until)
        except Unavailable as first:
            after = first.after if isinstance(first, RateLimited) else None
            pause = PAUSE if after is None else after
            if not first.again or self._clock.monotonic() + pause + LEAST_TIME > until:
                raise
            spent = first.tokens
        self._clock.sleep(pause)
        try:
            reply = self._attempt(request, scope, until)
        except LlmFault as second:
            second.tokens = spent + second.tokens
            raise
        return replace(reply, tokens=spent + reply.tokens)

    def _attempt(self, request: ChatRequest, scope: str, until: float) -> ChatReply:
        with within_budget(self.config, self._ledger, self._clock.today(), scope, request) as bill:
            try:
                reply = self._client.complete(request, self._left(until))
            except LlmFault as fault:
                bill.tokens = fault.tokens
                raise
            bill.tokens = reply.tokens
            return reply

    def _left(self, until: float) -> float:
        left = until - self._clock.monotonic()
        if left < LEAST_TIME:
            raise NoTime
        return left

    @contextmanager
    def _slot(self, until: float) -> Iterator[None]:
        if not self._slots.acquire(timeout=max(0.0, until - LEAST_TIME - self._clock.monotonic())):
            raise Busy
        try:
            yield
        finally:
            self._slots.release()
