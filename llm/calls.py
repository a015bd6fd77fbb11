"""One question to the LLM and all around it: cache, breaker, slot, budget, a second attempt, a deadline."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from llm.budget import Ledger, within_budget
from llm.faults import BadReply, BreakerOpen, Busy, LlmFault, NotAsked, NoTime, RateLimited, Unavailable
from llm.fusion import Measured
from llm.replies import find_object
from llm.values import ChatClient, ChatReply, ChatRequest, Clock, Duty, LlmConfig, Tokens, Took

# The circuit breaker: a server that keeps failing is left alone for a while, then tried once.

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


# Replies that were of use, by the hash of what was asked: the same question is not paid for twice.

KEEP_DAYS = 30


@dataclass(frozen=True, slots=True)
class Kept:
    """The JSON object of a reply, and what it took to get it; None where that is not known."""

    value: dict[str, Any]
    took: Took | None = None


class ReplyCache(Protocol):
    """The hole where replies are kept."""

    def get(self, request: ChatRequest) -> Kept | None:
        """What answered `request`; None when there is none."""

    def put(self, request: ChatRequest, kept: Kept) -> None:
        """Keep it."""


def cache_key(config: LlmConfig, request: ChatRequest) -> str:
    """SHA-256 over server, model and content; the random delimiter is not part of it."""
    text = json.dumps([config.base_url, config.model, request.content_key])
    return hashlib.sha256(text.encode()).hexdigest()


class NoCache:
    """Keeps nothing, for measurements of latency and cost."""

    def get(self, request: ChatRequest) -> Kept | None:
        """See the protocol."""
        return None

    def put(self, request: ChatRequest, kept: Kept) -> None:
        """See the protocol."""


class FileCache:
    """One small file a reply, kept for 30 days; a file that is damaged or unreadable is no entry.

    What a reply took is not kept.

    Replies stem from redacted reports, yet they are about somebody's report: the files are private (0600).
    """

    def __init__(self, folder: Path, config: LlmConfig) -> None:
        """Replies of the server and model of `config` alone are found."""
        self._folder = folder
        self._config = config
        self._due = 0.0

    def get(self, request: ChatRequest) -> Kept | None:
        """See the protocol."""
        try:
            value = json.loads(self._file(request).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return Kept(value) if isinstance(value, dict) else None

    def put(self, request: ChatRequest, kept: Kept) -> None:
        """See the protocol. A full or read-only disk costs the entry, not the triage."""
        try:
            file = self._file(request)
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=file.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                json.dump(kept.value, out)
            Path(name).replace(file)
        except OSError:
            return
        if time.time() > self._due:  # A service runs for longer than entries are kept.
            self.forget()

    def forget(self, days: int = KEEP_DAYS) -> int:
        """Delete entries older than `days`; returns how many."""
        now, gone = time.time(), 0
        self._due = now + 86_400
        for file in self._folder.glob("*/*.json"):
            with suppress(OSError):  # another process tidies, too
                if file.stat().st_mtime < now - days * 86_400:
                    file.unlink()
                    gone += 1
        return gone

    def _file(self, request: ChatRequest) -> Path:
        key = cache_key(self._config, request)
        return self._folder / key[:2] / f"{key}.json"


LEAST_TIME = 0.2
"""Seconds below which it is not worth asking."""
PAUSE = 0.3
"""Seconds before the second attempt where the server does not say."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    """A checked answer and what it took, None where a cached one does not say; a cached one costs nothing now."""

    value: T
    took: Took | None
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One question of a duty and what came of it."""

    duty: Duty
    took: Took | None
    """None where a cached answer does not say."""
    cached: bool = False
    fault: LlmFault | None = None

    @classmethod
    def answered(cls, duty: Duty, answer: Answered[Any]) -> Call:
        """A question that was answered, now or before."""
        return cls(duty, answer.took, answer.cached)

    @classmethod
    def failed(cls, duty: Duty, fault: LlmFault) -> Call:
        """A question without an answer, or one that was not put."""
        return cls(duty, Took(fault.tokens, fault.seconds), fault=fault)

    @property
    def asked(self) -> bool:
        """Whether it really went to the server."""
        put = not isinstance(self.fault, NotAsked) or self.spent != Tokens()
        return put and not self.cached

    @property
    def spent(self) -> Tokens:
        """What it cost now."""
        return Tokens() if self.cached or self.took is None else self.took.tokens


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
                return Answered(read(kept.value), kept.took, cached=True)
            except LlmFault:
                kept = None  # kept under an older check
        with self._slot(until), self.breaker.watching(self._clock.monotonic):
            start = self._clock.monotonic()
            try:
                value, answer, tokens = self._paid(request, read, scope, until)
            except LlmFault as fault:
                fault.seconds = self._clock.monotonic() - start
                raise
            took = Took(tokens, self._clock.monotonic() - start)
        self._cache.put(request, Kept(value, took))
        return Answered(answer, took)

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


# What it takes to ask the configured LLM.


@dataclass(frozen=True, slots=True)
class LlmAccess:
    """The configuration, where spending and replies are kept, what is known of the model, and who asks it."""

    config: LlmConfig
    ledger: Ledger
    cache: ReplyCache
    measured: Measured | None
    client: Callable[[], AbstractContextManager[ChatClient]]
