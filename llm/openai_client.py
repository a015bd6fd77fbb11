"""The openai SDK against any OpenAI-compatible server. Importing this module imports the SDK (0.6 s).

The calls run on an event loop of their own, where a deadline really ends them: a thread that waits for a
server dripping one byte a second cannot be stopped, a task can.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any

import anyio
import httpx2
import openai
from anyio.from_thread import start_blocking_portal
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from llm.dialect import Address, Dialect, address_of, arguments, step_down
from llm.faults import (
    BadRequest,
    Denied,
    LlmFault,
    RateLimited,
    Refused,
    ServerError,
    TimedOut,
    TooLong,
    Truncated,
    Unreachable,
    WrongModel,
)
from llm.values import CHARS_PER_TOKEN, ChatReply, ChatRequest, LlmConfig, Tokens, estimate

# The header Retry-After: seconds, or a date.
#
# https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3; `retry-after-ms` is what Azure adds.


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait, at least 0; None when the header is missing or makes no sense."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        try:
            seconds = float(value) / unit
        except ValueError:
            continue
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    try:
        at = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())


# A stream of chunks into one reply; nothing a server sends is believed to have the shape it should.

MAX_CHARS = 200_000
"""Characters of a reply, reasoning included; more is a server run wild."""


class Gathering:
    """What has come so far. `add` takes the chunks as the SDK gives them; `reply` closes the books."""

    def __init__(self, wanted_models: frozenset[str], prompt: str) -> None:
        self._wanted = wanted_models
        self._prompt = estimate(prompt)
        self._parts: list[str] = []
        self._chars = 0
        self._usage: Tokens | None = None
        self._refused = False
        self.finish: str | None = None

    def add(self, chunk: object) -> None:
        """Take one chunk; raises `WrongModel` or `TooLong`."""
        model = getattr(chunk, "model", None)
        if isinstance(model, str) and model and not same_model(model, self._wanted):
            raise WrongModel(self.tokens)
        self._usage = _usage(getattr(chunk, "usage", None)) or self._usage
        choices = getattr(chunk, "choices", None)
        for choice in choices if isinstance(choices, list) else []:
            self._take(choice)
        if self._chars > MAX_CHARS:
            raise TooLong(self.tokens)

    @property
    def tokens(self) -> Tokens:
        """As told by the server, else estimated from what was sent and came."""
        return self._usage or Tokens(self._prompt, -(-self._chars // CHARS_PER_TOKEN), estimated=True)

    def reply(self) -> ChatReply:
        """The whole reply; raises `Refused` or `Truncated`."""
        if self._refused or self.finish == "content_filter":
            raise Refused(self.tokens)
        if self.finish != "stop":
            raise Truncated(self.tokens, detail=self.finish or "the stream stopped")
        return ChatReply("".join(self._parts), self.tokens)

    def _take(self, choice: object) -> None:
        delta = getattr(choice, "delta", None)
        for name in ("content", "reasoning_content", "refusal"):
            text = getattr(delta, name, None)
            if isinstance(text, str) and text:
                self._chars += len(text)
                if name == "content":
                    self._parts.append(text)
                self._refused = self._refused or name == "refusal"
        finish = getattr(choice, "finish_reason", None)
        if isinstance(finish, str):
            self.finish = finish


def same_model(told: str, wanted: frozenset[str]) -> bool:
    """Whether a reply's model is the one asked for: the same name, a dated or tagged form of it, or its last part.

    "gpt-x" answers as "gpt-x-2026-01-31", "org/name" as "org/name@main" or "name", "name" as "name:latest".
    """
    return any(_is_form(told, name) or _is_form(told, name.rpartition("/")[2]) for name in wanted)


def _is_form(told: str, name: str) -> bool:
    told = told.rpartition("/")[2] if "/" not in name else told
    rest = told.removeprefix(name)
    return told == name or (rest != told and (rest[0] in "@:" or (rest[0] == "-" and rest[1:2].isdigit())))


def _usage(usage: object) -> Tokens | None:
    read, written = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
    if (
        isinstance(read, int)
        and isinstance(written, int)
        and 0 <= min(read, written) <= max(read, written) < 10**8
    ):
        return Tokens(read, written)
    return None


CLOSING = 0.5
"""Seconds that are waited for the usage after the reply's end."""
_STEPS = 6
"""More refusals than a dialect has steps do not occur."""


class OpenAiClient:
    """`llm.values.ChatClient` over HTTP; close it at the end. Safe to call from several threads."""

    def __init__(self, config: LlmConfig) -> None:
        self._config = config
        self._dialect = Dialect()
        self._wanted = frozenset({config.answers_as or config.model})
        self._lock = threading.Lock()
        self._open = ExitStack()
        self._portal = self._open.enter_context(start_blocking_portal())
        address = address_of(config.base_url)
        # A key is always given, or the SDK would send the one of OPENAI_API_KEY to whatever server this is.
        key = config.api_key or "none"
        self._headers = _headers(address, key)
        # No redirects: reports go to the configured server and nowhere else.
        self._sdk = AsyncOpenAI(
            base_url=address.base_url,
            api_key=key,
            default_query={"api-version": address.version} if address.version else None,
            max_retries=0,
            timeout=None,
            http_client=DefaultAsyncHttpxClient(follow_redirects=False, timeout=None),
        )

    def complete(self, request: ChatRequest, seconds: float) -> ChatReply:
        """See the protocol."""
        return self._portal.call(self._within, request, seconds)

    @property
    def dialect(self) -> Dialect:
        """What the server was found to understand so far."""
        return self._dialect

    def close(self) -> None:
        """Close connections and the event loop's thread."""
        self._portal.call(self._sdk.close)
        self._open.close()

    def __enter__(self) -> OpenAiClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _within(self, request: ChatRequest, seconds: float) -> ChatReply:
        gathering = Gathering(self._wanted, request.system + request.user)
        with anyio.move_on_after(seconds) as limit:
            try:
                await self._gather(request, gathering, limit)
            except (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, ValueError) as error:
                raise _fault(error, gathering) from None
        if limit.cancelled_caught and gathering.finish is None:
            raise TimedOut(gathering.tokens)
        return gathering.reply()

    async def _gather(self, request: ChatRequest, gathering: Gathering, limit: anyio.CancelScope) -> None:
        stream = await self._opened(request)
        async with stream:
            async for chunk in stream:
                gathering.add(chunk)
                if gathering.finish is not None:
                    limit.deadline = min(limit.deadline, anyio.current_time() + CLOSING)

    async def _opened(self, request: ChatRequest) -> Any:
        dialect = self._dialect
        for _ in range(_STEPS):
            try:
                stream = await self._sdk.chat.completions.create(
                    **arguments(request, self._config, dialect), extra_headers=self._headers
                )
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                lower = step_down(dialect, f"{error.message} {error.param}")
                if lower is None:
                    raise
                dialect = lower
                continue
            with self._lock:
                self._dialect = dialect
            return stream
        raise BadRequest(detail="no dialect fits")


def _headers(address: Address, key: str) -> dict[str, Any]:
    """The key where the server wants it, and nothing that the SDK would add from the environment."""
    never = ("Authorization", "OpenAI-Organization", "OpenAI-Project")
    return {**{name: openai.Omit() for name in never}, **address.key_header(key)}


def _fault(error: Exception, gathering: Gathering) -> LlmFault:
    """Our word for what the SDK raised; its messages may quote the report and are dropped."""
    begun = gathering.tokens if gathering.finish or gathering.tokens.output else None
    if isinstance(error, openai.RateLimitError):
        return RateLimited(retry_after(error.response.headers))
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        return Denied()
    if isinstance(error, openai.APIStatusError):
        kind = ServerError if error.status_code >= 500 else BadRequest
        return kind(detail=str(error.status_code))
    if isinstance(error, openai.APITimeoutError):
        return TimedOut(begun)
    if isinstance(error, openai.APIConnectionError | httpx2.HTTPError | httpx2.StreamError):
        return Unreachable(begun)
    # An error object or broken JSON inside the stream.
    return ServerError(begun, detail=type(error).__name__)
