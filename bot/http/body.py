"""Reading a request's body without letting it grow."""

from __future__ import annotations

import asyncio
import json
import resource
from typing import Any, ClassVar
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

BODY_LIMIT = 2 * 1024 * 1024
"""Bytes; GitHub would send up to 25 MB, an issue with its comment is far below two."""


class TooLarge(Exception):
    """The body is larger than the limit."""


class Malformed(Exception):
    """The body is not what it says it is."""


async def read_body(request: Request, limit: int = BODY_LIMIT) -> bytes:
    """The raw body; raises `TooLarge` as soon as it is known, `Malformed` when the sender went away."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and len(declared) < 20 and int(declared) > limit:
        raise TooLarge
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                raise TooLarge
    except ClientDisconnect as error:
        raise Malformed from error
    return bytes(body)


def form_of(body: bytes, content_type: str) -> dict[str, str]:
    """The fields of a small urlencoded form, the first of each name; raises `Malformed`, for any other kind too."""
    if content_type.partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise Malformed
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=10)
    except ValueError as error:
        raise Malformed from error
    return {name: values[0] for name, values in fields.items()}


def json_object(body: bytes, content_type: str) -> dict[str, Any]:
    """The JSON object in a webhook's body, plain or in the form field "payload"; raises `Malformed`."""
    try:
        text = body.decode()
        if content_type.startswith("application/x-www-form-urlencoded"):
            text = parse_qs(text, strict_parsing=True, max_num_fields=10)["payload"][0]
        value = json.loads(text)
    except (ValueError, KeyError, RecursionError) as error:
        raise Malformed from error
    if not isinstance(value, dict):
        raise Malformed
    return value


REQUEST_SECONDS = 10.0
"""GitHub and Slack give up after ten and three seconds themselves."""
_MOST = 1000
_FEWEST = 16


def most_connections() -> int:
    """How many may be open at once: half the files that the process may open, at most 1,000."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY:
        return _MOST
    return max(_FEWEST, min(_MOST, files // 2))


def backlog() -> int:
    """How many connections the system keeps until they are taken; all of them may be taken at once."""
    return max(_FEWEST, most_connections() // 4)


class Connection(HttpToolsProtocol):
    """uvicorn's connection, which ends when its request does not arrive in time, or when room is needed."""

    _waiting: ClassVar[dict[Connection, None]] = {}
    """Those that the application has nothing to do for, the longest waiting first; of this process's one server."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, at the price of another one when there are too many."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > most_connections():
            next(iter(self._waiting)).give_up()

    def data_received(self, data: bytes) -> None:
        """Parse what came; the first byte of a further request starts its time."""
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._wait()
        super().data_received(data)

    def on_message_complete(self) -> None:
        """The request is whole: from here on it is the application's."""
        self._arrived()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer is sent: a connection kept alive is idle, and the first to go when room is needed."""
        idle = not self.pipeline
        super().on_response_complete()
        if idle and not self.transport.is_closing():
            self._waiting[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        self._arrived()
        super().connection_lost(exc)

    def give_up(self) -> None:
        """End it without an answer; the application sees that its client is gone."""
        self._arrived()
        self.connections.discard(self)
        self.transport.abort()

    def _wait(self) -> None:
        self._waiting[self] = None
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self.give_up)

    def _arrived(self) -> None:
        self._waiting.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
