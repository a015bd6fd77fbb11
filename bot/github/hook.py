"""POST /webhooks/github: check, store, queue, answer; the work itself is a worker's."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import psycopg
import structlog
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from bot.github.intake import new_delivery
from bot.http.body import Malformed, TooLarge, json_object, read_body
from bot.jobs.queue import Accepted, NewDelivery
from bot.runtime.metrics import Metrics

_PREFIX = b"sha256="


def signed(body: bytes, header: bytes | None, secrets: Sequence[bytes]) -> bool:
    """Whether one of the secrets made the header (X-Hub-Signature-256) for this body.

    Only sha256 counts. Whatever the header holds, the answer is False and never an error.
    """
    if header is None or not header.startswith(_PREFIX):
        return False
    given = header[len(_PREFIX) :]
    # Every secret is tried, so that the time taken does not tell which one is in use.
    matches = [
        hmac.compare_digest(hmac.new(secret, body, hashlib.sha256).hexdigest().encode(), given)
        for secret in secrets
    ]
    return any(matches)


log = structlog.get_logger(__name__)

_ID_LIMIT = 100
_THREAD_ABOVE = 32_768
"""Bytes of a body above which parsing and redacting leave the event loop."""


@dataclass(frozen=True, slots=True)
class HookOptions:
    """What the webhook has to know of the settings."""

    secrets: tuple[bytes, ...]
    keep_text: bool
    """True without App credentials: the text then comes from the payload (redacted), not from GitHub."""
    edit_delay: float
    """Seconds an edit waits for the next one of a burst."""
    comment_delay: float = 0.0
    """Seconds that a comment which adds something waits for the next one."""


def github_router(
    options: HookOptions, accept: Callable[[NewDelivery], Awaitable[Accepted]], metrics: Metrics
) -> APIRouter:
    """The route; `accept` stores and queues a delivery."""
    router = APIRouter()

    @router.post("/webhooks/github")
    async def github(request: Request) -> JSONResponse:
        start = time.perf_counter()
        status, word = await _receive(request, options, accept)
        metrics.webhook("github", word, time.perf_counter() - start)
        return JSONResponse({"status": word}, status_code=status)

    return router


async def _receive(
    request: Request, options: HookOptions, accept: Callable[[NewDelivery], Awaitable[Accepted]]
) -> tuple[int, str]:
    try:
        body = await read_body(request)
    except TooLarge:
        return 413, "too_large"
    except Malformed:
        return 400, "incomplete"
    header = request.headers.get("x-hub-signature-256")
    if not signed(body, header.encode("latin-1") if header is not None else None, options.secrets):
        return 401, "bad_signature"
    delivery_id = request.headers.get("x-github-delivery", "").strip()
    event_name = request.headers.get("x-github-event", "").strip()
    if not delivery_id or len(delivery_id) > _ID_LIMIT or not event_name:
        return 400, "missing_header"
    try:
        content_type = request.headers.get("content-type", "")
        if len(body) > _THREAD_ABOVE:
            new = await asyncio.to_thread(digest, body, content_type, delivery_id, event_name, options)
        else:
            new = digest(body, content_type, delivery_id, event_name, options)
    except Malformed:
        return 400, "malformed"
    if new is None:
        return 202, "ignored"
    try:
        accepted = await accept(new)
    except psycopg.Error as error:
        # GitHub notes the failure, and the sweep asks it to deliver again.
        log.error("delivery not stored", delivery=delivery_id, error=type(error).__name__)
        return 503, "unavailable"
    log.info(
        "delivery accepted",
        delivery=delivery_id,
        event_name=new.event,
        action=new.action,
        subject=new.subject,
        status=accepted,
    )
    return 202, accepted


def digest(
    body: bytes, content_type: str, delivery_id: str, event_name: str, options: HookOptions
) -> NewDelivery | None:
    """The delivery to store, None when there is nothing to do; raises `Malformed`."""
    payload = json_object(body, content_type)
    return new_delivery(
        delivery_id, event_name, payload, options.keep_text, options.edit_delay, options.comment_delay
    )
