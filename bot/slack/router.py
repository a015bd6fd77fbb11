"""POST /slack/commands, /slack/interactions, /slack/events: check, store, queue, answer within moments."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import psycopg
import structlog
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from starlette.background import BackgroundTask

from bot.db.connect import clean_json, clean_text
from bot.http.body import Malformed, TooLarge, json_object, read_body
from bot.jobs.queue import Accepted, NewDelivery
from bot.runtime.metrics import Metrics
from bot.slack import words
from bot.slack.asking import belongs
from bot.slack.inbound import Unreadable, command, event
from bot.slack.interactions import errors, interaction, open_modal, say_now
from bot.slack.ports import SlackPorts
from bot.slack.records import Answer, Decision, Open, Queue, Seal, say

WINDOW = 300
"""Seconds that the sender's clock may differ from ours, either way."""

_LONGEST_TIMESTAMP = 12


def signed(body: bytes, timestamp: bytes | None, signature: bytes | None, secret: bytes, now: float) -> bool:
    """Whether the secret made the signature for this body at this time, `now` in Unix seconds.

    Whatever the headers hold (None: absent), the answer is False and never an error.
    """
    if timestamp is None or signature is None or not secret:
        return False
    # bytes.isdigit knows only ASCII digits: no sign, blank or underscore, which int() would let through.
    if not timestamp.isdigit() or len(timestamp) > _LONGEST_TIMESTAMP:
        return False
    made = hmac.new(secret, b"v0:" + timestamp + b":" + body, hashlib.sha256).hexdigest()
    fits = hmac.compare_digest(b"v0=" + made.encode(), signature)
    return fits and abs(now - int(timestamp)) <= WINDOW


_FIELDS = 100


def decide_command(body: bytes, seal: Seal, now: float) -> Decision:
    """What a slash command asks for. Raises `Unreadable`."""
    return command(_form(body), seal, now)


def decide_interaction(body: bytes, seal: Seal, now: float) -> Decision:
    """What an interaction asks for; its JSON is in the form's field "payload". Raises `Unreadable`."""
    try:
        payload: Any = clean_json(json.loads(_form(body).get("payload", ""))).obj
    except (ValueError, RecursionError) as error:
        raise Unreadable from error
    if not isinstance(payload, dict):
        raise Unreadable
    return interaction(payload, seal, now)


def decide_event(body: bytes, seal: Seal, now: float) -> Decision:
    """What an event asks for. Raises `Unreadable` and `Malformed`."""
    try:
        payload: dict[str, Any] = clean_json(json_object(body, "application/json")).obj
    except RecursionError as error:
        raise Unreadable from error
    return event(payload, now)


def _form(body: bytes) -> dict[str, str]:
    try:
        fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS)
    except ValueError as error:
        raise Unreadable from error
    return {name: clean_text(value) for name, value in fields}


log = structlog.get_logger(__name__)

_THREAD_ABOVE = 32_768
"""Bytes of a body above which parsing and redacting leave the event loop."""

Decide = Callable[[bytes, Seal, float], Decision]
Done = tuple[str, Response]


@dataclass(frozen=True, slots=True)
class SlackWeb:
    """What the routes stand on; `limit` is in calls a minute for each workspace."""

    ports: SlackPorts
    accept: Callable[[NewDelivery], Awaitable[Accepted]]
    metrics: Metrics
    secret: bytes
    limit: int


def slack_router(web: SlackWeb) -> APIRouter:
    """The three routes that Slack calls."""
    router = APIRouter()

    def route(path: str, decide: Decide, kind: str) -> None:
        async def receive(request: Request) -> Response:
            start = time.perf_counter()
            word, response = await _receive(request, web, decide, kind)
            web.metrics.webhook("slack", word, time.perf_counter() - start)
            return response

        router.add_api_route(path, receive, methods=["POST"], response_model=None)

    route("/slack/commands", decide_command, "command")
    route("/slack/interactions", decide_interaction, "interaction")
    route("/slack/events", decide_event, "event")
    return router


async def _receive(request: Request, web: SlackWeb, decide: Decide, kind: str) -> Done:
    try:
        body = await read_body(request)
    except TooLarge:
        return _bare("too_large", 413)
    except Malformed:
        return _bare("incomplete", 400)
    now = web.ports.clock.now().timestamp()
    if not signed(
        body,
        _only(request, "x-slack-request-timestamp"),
        _only(request, "x-slack-signature"),
        web.secret,
        now,
    ):
        return _bare("bad_signature", 401)
    try:
        if len(body) > _THREAD_ABOVE:
            decision = await asyncio.to_thread(decide, body, web.ports.vault, now)
        else:
            decision = decide(body, web.ports.vault, now)
    except (Unreadable, Malformed):
        return _bare("malformed", 400)
    try:
        return await _act(decision, web, kind)
    except psycopg.Error as error:
        log.error("call not stored", kind=kind, error=type(error).__name__)
        if kind == "command":
            return "unavailable", _json(say(words.TRY_AGAIN))
        return _bare("unavailable", 503)


async def _act(decision: Decision, web: SlackWeb, kind: str) -> Done:
    if isinstance(decision, Answer):
        return "answered", _json(decision)
    if isinstance(decision, Open):
        return "opened", Response(background=BackgroundTask(open_modal, decision, web.ports))
    task, ledger, store = decision.task, web.ports.ledger, web.ports.store
    # Of a message that is no part of an answer nothing is kept.
    if decision.if_shared and not await asyncio.to_thread(belongs, task, store):
        return _bare("ignored", 200)
    if decision.counts:
        now = web.ports.clock.now()
        wait = await asyncio.to_thread(ledger.admit, task.workspace, decision.id, web.limit, now)
        if wait:
            return "rate_limited", _refusal(decision, web, kind, wait)
    accepted = await web.accept(
        NewDelivery(
            id=decision.id,
            source="slack",
            event=task.kind,
            action=None,
            lock=f"slack:{task.triage or task.thread or decision.id}",
            coalesce_key=None,
            payload=task.model_dump(mode="json"),
        )
    )
    log.info("call accepted", delivery=decision.id, kind=task.kind, status=accepted)
    return _bare(accepted, 200)


def _refusal(refused: Queue, web: SlackWeb, kind: str, wait: float) -> Response:
    text = words.slow_down(web.limit, wait)
    if kind == "command":
        return _json(say(text))
    if kind == "event":
        # Slack calls again, after a minute and after five.
        return Response(status_code=429)
    if refused.from_modal:
        return _json(errors("text", text))
    task = refused.task
    to = Open("paste", task.workspace, "", task.user, task.channel, task.reply)
    return Response(background=BackgroundTask(say_now, to, web.ports, text))


def _only(request: Request, name: str) -> bytes | None:
    """The header's bytes; None when it is missing or there are several."""
    values = request.headers.getlist(name)
    return values[0].encode("latin-1") if len(values) == 1 else None


def _json(answer: Answer) -> Response:
    return Response() if answer.body is None else JSONResponse(answer.body)


def _bare(word: str, status: int) -> Done:
    return word, Response(status_code=status)
