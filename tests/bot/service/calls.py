"""Webhook calls as GitHub makes them, and waiting for their end."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
import uuid
from typing import Any

import httpx2

from bot.db.deliveries import Deliveries, StoredDelivery
from bot.runtime.resources import Service


def issue_payload(number: int = 1, action: str = "opened", **issue: Any) -> dict[str, Any]:
    return {
        "action": action,
        "installation": {"id": 7},
        "repository": {"id": 11, "full_name": "octo/train"},
        "sender": {"login": "ada", "type": "User"},
        "changes": {"body": {"from": "before"}} if action == "edited" else {},
        "issue": {
            "number": number,
            "title": "NCCL hangs",
            "body": "It hangs.",
            "user": {"login": "ada", "type": "User"},
            "state": "open",
            "created_at": "2026-11-01T10:00:00Z",
            **issue,
        },
    }


def signature(body: bytes, secret: str = "s1") -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def headers(
    body: bytes, *, event: str = "issues", delivery: str | None = None, secret: str = "s1"
) -> dict[str, str]:
    return {
        "content-type": "application/json",
        "x-github-event": event,
        "x-github-delivery": delivery or str(uuid.uuid4()),
        "x-hub-signature-256": signature(body, secret),
    }


async def post(client: httpx2.AsyncClient, payload: Any, **kwargs: Any) -> httpx2.Response:
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return await client.post("/webhooks/github", content=body, headers=headers(body, **kwargs))


async def ended(service: Service, delivery: str, seconds: float = 15) -> StoredDelivery:
    deliveries = Deliveries(service.threads)
    deadline = time.monotonic() + seconds
    while True:
        found = await asyncio.to_thread(deliveries.show, delivery)
        if found is not None and found.state != "queued":
            return found
        assert time.monotonic() < deadline, f"{delivery} did not end: {found}"
        await asyncio.sleep(0.02)
