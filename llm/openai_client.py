"""The openai SDK against any OpenAI-compatible server. Importing this module imports the SDK (0.6 s).

The calls run on an event loop of their own, where a deadline really ends them: a thread that waits for a
server dripping one byte a second cannot be stopped, a task can.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import anyio
import httpx2
import openai
from anyio.from_thread import start_blocking_portal
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from llm.address import Address, address_of
from llm.chunks import Gathering
from llm.config import LlmConfig
from llm.dialect import Dialect, arguments, step_down
from llm.faults import BadRequest, Denied, LlmFault, RateLimited, ServerError, TimedOut, Unreachable
from llm.retry_after import retry_after
from llm.values import ChatReply, ChatRequest

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
