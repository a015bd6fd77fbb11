"""`POST /api/triage` for programs: a report in, its triage out. Nothing is stored or written anywhere.

The routes are an application of their own, so that its OpenAPI description holds these and no others.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from fastapi import Depends, FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.security import HTTPBearer
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bot.http.body import BODY_LIMIT, Malformed, TooLarge, json_object, read_body
from bot.ports import CoreFailed
from bot.render.markdown import markdown_of
from bot.reports.files import pasted_report
from bot.runtime.metrics import Metrics
from bot.runtime.triage_pool import CanTriage
from knowledge.report import Report
from knowledge.taxonomy import Taxonomy
from knowledge.triage import Triage

# How many calls a token has left in the present minute.

WINDOW_S = 60.0


class RateLimit:
    """At most `limit` calls of each key in any minute; for one process and its event loop."""

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._calls: dict[int, deque[float]] = {}

    def wait(self, key: int) -> float:
        """Seconds until this key may call again; 0.0 counts the call."""
        now = self._clock()
        calls = self._calls.setdefault(key, deque())
        while calls and calls[0] <= now - WINDOW_S:
            calls.popleft()
        if len(calls) >= self._limit:
            return calls[0] + WINDOW_S - now
        calls.append(now)
        return 0.0


log = structlog.get_logger(__name__)

PREFIX = "/api"
WAITING = 16
"""Calls that wait for a triage process; further ones are turned away."""
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_PAGE_HEADERS = {
    **HEADERS,
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
}


_pages = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined
)


class TriageRequest(BaseModel):
    """A report: an issue (title and body), or a log."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(default="", max_length=1_000, description="title of the issue; empty for a log")
    body: str = Field(min_length=1, description="text of the issue in Markdown, or the log")
    is_log: bool = Field(default=False, description="the body is a program's output, not Markdown")


class TriageAnswer(BaseModel):
    """What was found."""

    triage: Triage
    markdown: str = Field(description="the same for people, as Markdown")


class Problem(BaseModel):
    """Why there is no answer."""

    error: str


@dataclass(frozen=True, slots=True)
class Api:
    """What the routes need."""

    tokens: tuple[bytes, ...]
    core: CanTriage
    taxonomy: Taxonomy
    metrics: Metrics
    limit: RateLimit
    workers: int = 1
    """Triages at once: the triage processes."""


class _Refused(Exception):
    def __init__(self, status: int, error: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(error)
        self.status, self.error, self.headers = status, error, headers or {}


def api_app(api: Api) -> FastAPI:
    """The application to mount at `PREFIX`."""
    app = FastAPI(
        title="distriage",
        description="Triage of failure reports about distributed deep-learning training.",
        version="1",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
    )
    # Threads of its own: waiting triages must not take those that store webhooks.
    threads = ThreadPoolExecutor(api.workers, thread_name_prefix="api")
    waiting = asyncio.Semaphore(WAITING)

    async def answer(request: Request) -> TriageAnswer:
        token = token_of(request.headers.get("authorization", ""), api.tokens)
        if token is None:
            raise _Refused(401, "a valid bearer token is required", {"www-authenticate": "Bearer"})
        wait = api.limit.wait(token)
        if wait > 0:
            raise _Refused(429, "too many requests for this token", {"retry-after": str(math.ceil(wait))})
        try:
            body = await read_body(request)
        except TooLarge:
            raise _Refused(413, f"a report may have up to {BODY_LIMIT} bytes") from None
        except Malformed:
            raise _Refused(400, "the body did not arrive in full") from None
        if waiting.locked():
            raise _Refused(503, "busy; try again later", {"retry-after": "5"})
        async with waiting:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(
                threads, _triage, api, body, request.headers.get("content-type", "")
            )

    @app.post(
        "/triage",
        response_model=TriageAnswer,
        responses={status: {"model": Problem} for status in (400, 401, 413, 415, 429, 500, 503)},
        openapi_extra=_REQUEST,
        dependencies=[Depends(HTTPBearer(auto_error=False, description="DISTRIAGE_API_TOKEN"))],
        summary="Triage a report",
    )
    async def triage(request: Request) -> JSONResponse:
        """What failed, why, and what to do. Secrets in the report are redacted first; nothing is stored."""
        start = time.perf_counter()
        try:
            content = (await answer(request)).model_dump(mode="json")
            status, headers = 200, HEADERS
        except _Refused as refused:
            content, status = {"error": refused.error}, refused.status
            headers = {**HEADERS, **refused.headers}
        api.metrics.api(status, time.perf_counter() - start)
        return JSONResponse(content, status_code=status, headers=headers)

    @app.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        return HTMLResponse(_page(app.openapi()), headers=_PAGE_HEADERS)

    return app


_REQUEST = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": TriageRequest.model_json_schema()},
            "text/plain": {"schema": {"type": "string", "description": "the report or log as it is"}},
        },
    },
}


def token_of(header: str, tokens: Sequence[bytes]) -> int | None:
    """Which of the tokens an Authorization header holds; None for no or another one."""
    scheme, _, given = header.partition(" ")
    if scheme.casefold() != "bearer":
        return None
    # Digests have one length, and every token is compared, so the time taken says nothing about them.
    digest = hashlib.sha256(given.strip().encode("utf-8", "replace")).digest()
    matches = [hmac.compare_digest(digest, hashlib.sha256(token).digest()) for token in tokens]
    return matches.index(True) if any(matches) else None


def _triage(api: Api, body: bytes, content_type: str) -> TriageAnswer:
    report = report_of(body, content_type)
    try:
        triage = api.core.triage(report)
    except CoreFailed as error:
        log.error("triage for the API failed", error=type(error).__name__)
        raise _Refused(500, "the triage failed; the log of the service says where") from None
    return TriageAnswer(triage=triage, markdown=markdown_of(triage, api.taxonomy))


def report_of(body: bytes, content_type: str) -> Report:
    """The report in a request's body; `_Refused` when there is none."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "text/plain":
        text = body.decode("utf-8", "replace")
        if not text.strip():
            raise _Refused(400, "the body is empty")
        return pasted_report("report", text)
    if kind != "application/json":
        raise _Refused(415, "send application/json or text/plain")
    try:
        given = TriageRequest.model_validate(json_object(body, kind))
    except Malformed:
        raise _Refused(400, "the body is not a JSON object") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise _Refused(400, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return Report(id="report", title=given.title, body=given.body, is_log=given.is_log)


def _page(description: dict[str, Any]) -> str:
    """The OpenAPI description for people: no script, nothing loaded from elsewhere."""
    return _pages.get_template("api.html.j2").render(
        api=description, prefix=PREFIX, schema=json.dumps(description, indent=2)
    )
