"""An OpenAI-compatible chat server on a real socket, true to the protocol, with every fault on order.

https://platform.openai.com/docs/api-reference/chat-streaming tells the wire format that is imitated here.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "acme-7b"
Body = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """How one request is answered; the default is a good reply, streamed in three pieces."""

    text: str = "{}"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    error: Any = None
    model: str = MODEL
    finish: str | None = "stop"
    refusal: str = ""
    usage: Any = None
    tell_usage: bool = True
    silent: float = 0.0
    drip: float = 0.0
    cut_after: int | None = None
    raw: bytes | None = None
    linger: float = 0.0
    done: bool = True


@dataclass
class FakeLlm:
    """The server's mind: `answers` first, one a request, then `brain(body)`; `refuses` by parameter value."""

    answers: deque[Answer] = field(default_factory=deque)
    brain: Callable[[Body], Answer] = lambda body: Answer()
    refuses: tuple[str, ...] = ()
    requests: list[Body] = field(default_factory=list)
    seen_headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    busiest: int = 0
    _now: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: Body, headers: dict[str, str]) -> Answer:
        with self._lock:
            self.requests.append(body)
            self.seen_headers.append(headers)
            complaint = self._complaint(body)
            if complaint:
                return complaint
            return self.answers.popleft() if self.answers else self.brain(body)

    @contextmanager
    def counted(self) -> Iterator[None]:
        with self._lock:
            self._now += 1
            self.busiest = max(self.busiest, self._now)
        try:
            yield
        finally:
            with self._lock:
                self._now -= 1

    def _complaint(self, body: Body) -> Answer | None:
        for name in self.refuses:
            kind = body.get("response_format", {}).get("type")
            if name == kind:
                return _bad(f"Invalid parameter: 'response_format' of type '{kind}' is not supported.")
            if name in body:
                hint = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
                return _bad(f"Unsupported parameter: '{name}' is not supported with this model.{hint}")
        return None


def _bad(message: str) -> Answer:
    return Answer(status=400, error={"message": message, "type": "invalid_request_error", "param": None})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    mind: FakeLlm

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.mind.paths.append(self.path)
        if not self.path.partition("?")[0].endswith("/chat/completions"):
            self._plain(404, {"error": {"message": "no such path"}}, {})
            return
        with self.mind.counted():
            try:
                self._answer(body, self.mind.answer(body, {k.lower(): v for k, v in self.headers.items()}))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

    def _answer(self, body: Body, answer: Answer) -> None:
        time.sleep(answer.silent)
        if answer.status != 200:
            error = answer.error if answer.error is not None else {"message": "fault on order"}
            self._plain(answer.status, {"error": error}, answer.headers)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for count, event in enumerate(self._events(body, answer)):
            if answer.cut_after is not None and count >= answer.cut_after:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self._send(event, answer.drip)
        time.sleep(answer.linger)
        self.wfile.write(b"0\r\n\r\n")

    def _events(self, body: Body, answer: Answer) -> Iterator[bytes]:
        if answer.raw is not None:
            yield answer.raw
            return
        third = max(1, len(answer.text) // 3)
        yield _event(answer, {"role": "assistant", "content": ""})
        for start in range(0, len(answer.text), third):
            yield _event(answer, {"content": answer.text[start : start + third]})
        if answer.refusal:
            yield _event(answer, {"refusal": answer.refusal})
        if answer.finish:
            yield _event(answer, {}, answer.finish)
        if answer.tell_usage and body.get("stream_options", {}).get("include_usage"):
            told = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
            yield _event(answer, None, usage=answer.usage if answer.usage is not None else told)
        if answer.done:
            yield b"data: [DONE]\n\n"

    def _send(self, event: bytes, drip: float) -> None:
        for piece in [event[i : i + 1] for i in range(len(event))] if drip else [event]:
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
            time.sleep(drip)

    def _plain(self, status: int, value: Body, headers: dict[str, str]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on the terminal."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a client that left is what tests order
            super().handle_error(request, client_address)


def _event(answer: Answer, delta: Body | None, finish: str | None = None, usage: Any = None) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    chunk = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": answer.model,
        "choices": choices,
    }
    if usage is not None:
        chunk["usage"] = usage
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


@contextmanager
def serve(mind: FakeLlm) -> Iterator[str]:
    """The base URL of a running server."""
    handler = type("Handler", (_Handler,), {"mind": mind})
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
