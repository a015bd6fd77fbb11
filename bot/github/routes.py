"""GitHub's routes: webhooks, checked, stored and queued; and diagnostics scripts by their link."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import psycopg
import structlog
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from itsdangerous import BadData, URLSafeSerializer

from bot.github import events
from bot.github.payload import storable
from bot.github.records import IssueRef, RepoRef
from bot.github.store.postgres import PostgresStore
from bot.http.body import Malformed, TooLarge, json_object, read_body
from bot.jobs.queue import Accepted, NewDelivery
from bot.runtime.generated_secret import admin_secret
from bot.runtime.metrics import Metrics
from bot.runtime.resources import Service
from bot.settings import Settings

# From a webhook's payload to the delivery that is stored and queued.


def new_delivery(
    delivery_id: str,
    event_name: str,
    payload: dict[str, Any],
    keep_text: bool,
    edit_delay: float = 0.0,
    comment_delay: float = 0.0,
) -> NewDelivery | None:
    """The delivery to store of a payload, or None when it is nothing to us; delays in seconds."""
    event = events.parse(event_name, payload)
    if isinstance(event, events.Ignored):
        return None
    lock = events.lock(event) or f"github:delivery:{delivery_id}"
    action = payload.get("action")
    return NewDelivery(
        id=delivery_id,
        source="github",
        event=event_name,
        action=action if isinstance(action, str) else None,
        lock=lock,
        coalesce_key=events.coalesce_key(event),
        payload=storable(payload, keep_text),
        delay=_delay(event, edit_delay, comment_delay),
    )


def _delay(event: events.Event, edit_delay: float, comment_delay: float) -> float:
    """How long it waits for the next one of a burst."""
    if isinstance(event, events.Remarked):
        return comment_delay
    if not isinstance(event, events.IssueText):
        return 0.0
    return {"edited": edit_delay, "commented": comment_delay}.get(event.action, 0.0)


# POST /webhooks/github: check, store, queue, answer; the work itself is a worker's.

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


# `/d/<token>.sh`: the diagnostics script of an issue's newest triage, for whoever has the comment's link.

_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def script_router(service: Service, links: ScriptLinks) -> APIRouter:
    """The route; an unknown token and a triage without a script both answer 404."""
    router = APIRouter()
    store = PostgresStore(service.threads)

    @router.get("/d/{token}.sh")
    async def script(token: str) -> Response:
        found = links.issue(token)
        if found is None:
            return PlainTextResponse("There is no such script.\n", 404, headers=_HEADERS)
        ref = IssueRef(0, RepoRef(found[0], ""), found[1])
        record = await asyncio.to_thread(store.last_triage, ref)
        if record is None or not record.triage.script:
            return PlainTextResponse("There is no script for this report.\n", 404, headers=_HEADERS)
        return PlainTextResponse(record.triage.script, headers=_HEADERS)

    return router


@dataclass(frozen=True, slots=True)
class ScriptLinks:
    """Makes and reads unguessable addresses; `public_url` is None where no public address is configured."""

    secret: str
    public_url: str | None

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """By the settings; the secret is that of the maintainers' page."""
        configured = "public_url" in settings.model_fields_set
        return cls(admin_secret(settings), settings.public_url.rstrip("/") if configured else None)

    def link(self, issue: IssueRef) -> str | None:
        """The address of the script of an issue's newest triage; None without a public address."""
        if self.public_url is None:
            return None
        return f"{self.public_url}/d/{self.token(issue.repo.id, issue.number)}.sh"

    def token(self, repo_id: int, number: int) -> str:
        """What stands for an issue in an address."""
        return self._signer().dumps([repo_id, number])

    def issue(self, token: str) -> tuple[int, int] | None:
        """The repository's id and the issue's number; None for a token that is not ours."""
        try:
            repo_id, number = self._signer().loads(token)
        except (BadData, ValueError, TypeError):
            return None
        return int(repo_id), int(number)

    def _signer(self) -> URLSafeSerializer:
        return URLSafeSerializer(self.secret, salt="distriage.script")
