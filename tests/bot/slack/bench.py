"""What a Slack test holds in its hands: the service, the fake, and calls as Slack makes them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from urllib.parse import urlencode

import httpx2
from pydantic import SecretStr
from slack_sdk.signature import SignatureVerifier

from bot.db.deliveries import Deliveries, StoredDelivery
from bot.jobs.queue import WorkerOptions
from bot.runtime.core import NamedCore
from bot.runtime.resources import Service, Work, working
from bot.serve.compose import slack_ports, slack_routers
from bot.serve.web_app import make_app
from bot.slack.handler import slack_handler
from bot.slack.ports import SlackPorts
from knowledge.report import Report
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import Triage
from tests.bot.fake_core import FakeCore, a_triage
from tests.bot.service.conftest import OpenService
from tests.bot.slack.fake_slack import ROOM, TOKEN, FakeSlack

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
KEY = "k" * 40
FAST = WorkerOptions(concurrency=4, heartbeat=0.2, stalled=1.0, poll=0.05, grace=2.0)
_numbers = count(1)


class ShiftedClock:
    """The real time, moved by what a test wants."""

    def __init__(self) -> None:
        self.shift = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.shift


def signed(body: str, at: float | None = None, secret: str = SECRET) -> dict[str, str]:
    """The headers that Slack would send, by slack-sdk's own code."""
    stamp = str(int(time.time() if at is None else at))
    signature = SignatureVerifier(secret).generate_signature(timestamp=stamp, body=body)
    assert signature is not None
    return {
        "x-slack-request-timestamp": stamp,
        "x-slack-signature": signature,
        "content-type": "application/x-www-form-urlencoded",
    }


@dataclass
class Bench:
    service: Service
    client: httpx2.AsyncClient
    fake: FakeSlack
    ports: SlackPorts
    core: FakeCore
    clock: ShiftedClock
    wait: float = 0.01
    sent: list[str] = field(default_factory=list)

    async def post(self, path: str, body: str, **headers: str) -> httpx2.Response:
        at = self.clock.now().timestamp()
        return await self.client.post(path, content=body.encode(), headers={**signed(body, at), **headers})

    def command_body(self, text: str, user: str = "U1", **more: str) -> str:
        form = {
            "command": "/triage",
            "text": text,
            "team_id": "T1",
            "user_id": user,
            "channel_id": ROOM,
            "response_url": self.fake.reply_url(user),
            "trigger_id": f"t{next(_numbers)}",
            **more,
        }
        return urlencode(form)

    async def command(self, text: str, user: str = "U1", **more: str) -> httpx2.Response:
        return await self.post("/slack/commands", self.command_body(text, user, **more))

    async def interact(self, kind: str, user: str = "U1", **more: Any) -> httpx2.Response:
        payload = {
            "type": kind,
            "team": {"id": "T1"},
            "user": {"id": user},
            "channel": {"id": ROOM},
            "trigger_id": f"t{next(_numbers)}",
            "response_url": self.fake.reply_url(user),
            **more,
        }
        return await self.post("/slack/interactions", urlencode({"payload": json.dumps(payload)}))

    async def press(self, action: str, triage: str, user: str = "U1", **more: Any) -> httpx2.Response:
        actions = [{"action_id": action, "value": triage, "type": "button"}]
        return await self.interact("block_actions", user, actions=actions, **more)

    async def submit(
        self, view: dict[str, Any], values: dict[str, Any], user: str = "U1", **more: Any
    ) -> httpx2.Response:
        done = {**view, "id": "V1", "state": {"values": values}}
        return await self.interact(
            "view_submission", user, view=done, response_url=None, channel=None, **more
        )

    async def event(self, event: dict[str, Any], **more: Any) -> httpx2.Response:
        outer = {
            "type": "event_callback",
            "team_id": "T1",
            "event_id": f"Ev{next(_numbers)}",
            "event_time": int(self.clock.now().timestamp()),
            "event": event,
            **more,
        }
        return await self.post("/slack/events", json.dumps(outer), **{"content-type": "application/json"})

    async def settled(self, seconds: float = 15) -> list[StoredDelivery]:
        """All deliveries, once none waits any more, oldest first."""
        deliveries = Deliveries(self.service.threads)
        deadline = time.monotonic() + seconds
        while True:
            found = await asyncio.to_thread(deliveries.newest)
            if all(one.state != "queued" for one in found):
                return found[::-1]
            assert time.monotonic() < deadline, [(d.event, d.attempts, d.error) for d in found]
            await asyncio.sleep(0.02)

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[None]:
        work = Work({"slack": slack_handler(self.ports)}, wait=lambda attempts: self.wait)
        async with working(self.service, work, FAST):
            yield

    async def triaged(self, text: str = "NCCL timeout on rank 3", user: str = "U1") -> dict[str, Any]:
        """The answer to a command, after its work is done."""
        assert (await self.command(text, user)).status_code == 200
        ends = await self.settled()
        assert ends[-1].state == "done", ends[-1].error
        return self.fake.to(user)[-1]


def quoting_the_paste(report: Report) -> Triage:
    """The fake's triage, with the line quoted that became the title."""
    return a_triage(Report(report.id, "", f"{report.title}\n{report.body}"))


@asynccontextmanager
async def bench(
    opened: OpenService, fake: FakeSlack, core: FakeCore | None = None, **more: Any
) -> AsyncIterator[Bench]:
    """A service with the Slack app on the fake; by default with one token."""
    base: dict[str, Any] = {
        "slack_signing_secret": SecretStr(SECRET),
        "slack_token_key": SecretStr(KEY),
        "slack_api_url": f"{fake.url}/api/",
        "slack_rate_limit": 1000,
    }
    if "slack_client_id" not in more:
        base["slack_bot_token"] = SecretStr(TOKEN)
    async with opened(**{**base, **more}) as service:
        core, clock = core or FakeCore(quoting_the_paste), ShiftedClock()
        ports = slack_ports(service, NamedCore(core, load_taxonomy()), clock)
        transport = httpx2.ASGITransport(app=make_app(service, slack_routers(service, ports)))
        async with httpx2.AsyncClient(transport=transport, base_url="http://bot") as client:
            yield Bench(service, client, fake, ports, core, clock)
