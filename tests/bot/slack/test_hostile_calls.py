"""Whatever bytes a call is made of, the answer is 401, 400, 413 or what Slack asked for; never a 500."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from fastapi import FastAPI
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg import OperationalError

from bot.db.connect import sync_pool
from bot.jobs.queue import Accepted, NewDelivery
from bot.runtime.core import NamedCore
from bot.runtime.metrics import Metrics
from bot.slack.answer import MORE, SCRIPT, SHARE, WRONG
from bot.slack.api import SlackApi
from bot.slack.interactions import PASTE, SHORTCUT, WRONG_LABELS
from bot.slack.ports import SlackPorts
from bot.slack.router import SlackWeb, slack_router
from bot.slack.store import Ledger, SlackStore
from bot.slack.tokens import OneToken, Vault
from knowledge.taxonomy import load_taxonomy
from tests.bot.fake_core import FakeCore
from tests.bot.slack.bench import KEY, SECRET, ShiftedClock, signed
from tests.bot.slack.test_answer import SLACK_FRAGMENTS

PATHS = ("/slack/commands", "/slack/interactions", "/slack/events")
KNOWN = (
    "type", "team", "user", "channel", "id", "trigger_id", "response_url", "message_action", "block_actions",
    "view_submission", "callback_id", SHORTCUT, PASTE, WRONG_LABELS, MORE, SCRIPT, SHARE, WRONG, "message", "text",
    "files", "actions", "action_id", "value", "view", "state", "values", "private_metadata", "event", "event_id",
    "event_time", "thread_ts", "ts", "tokens", "bot", "authorizations", "team_id", "enterprise_id", "T1", "U1",
    "app_uninstalled", "tokens_revoked", "url_verification", "challenge", "selected_option", "symptom",
    "```distriage-result", '{"reply": {"sealed": 1}}', '{"channel": [], "triage": {}}', "null", *SLACK_FRAGMENTS,
)  # fmt: skip
words = st.one_of(st.sampled_from(KNOWN), st.text(max_size=20))
values = st.recursive(
    st.one_of(words, st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(words, inner, max_size=6)),
    max_leaves=25,
)
PLAUSIBLE: dict[str, Any] = {
    "team": {"id": "T1"}, "team_id": "T1", "user": {"id": "U1"}, "trigger_id": "t", "event_id": "E1",
}  # fmt: skip


async def _no_database(new: NewDelivery) -> Accepted:
    raise OperationalError("no database in this test")


@pytest.fixture(scope="module")
def client() -> Iterator[httpx2.AsyncClient]:
    """The routes without a database: whatever wants to be stored is answered 503 (commands: a word)."""
    closed, vault = sync_pool("postgresql://nowhere", 1), Vault([KEY])
    ports = SlackPorts(
        SlackApi("http://127.0.0.1:9/api/"),
        SlackStore(closed),
        Ledger(closed),
        vault,
        OneToken("xoxb-x"),
        NamedCore(FakeCore(), load_taxonomy()),
        ShiftedClock(),
    )
    app = FastAPI()
    app.include_router(slack_router(SlackWeb(ports, _no_database, Metrics(), SECRET.encode(), 10)))
    transport = httpx2.ASGITransport(app=app)
    yield httpx2.AsyncClient(transport=transport, base_url="http://bot")


def status(client: httpx2.AsyncClient, path: str, body: bytes, headers: Any) -> int:
    async def go() -> int:
        return (await client.post(path, content=body, headers=headers)).status_code

    return asyncio.run(go())


header_bytes = st.binary(max_size=80).map(lambda b: b.replace(b"\r", b"").replace(b"\n", b""))


@settings(max_examples=80, deadline=None)
@given(
    path=st.sampled_from(PATHS),
    stamp=st.one_of(header_bytes, st.just(None)),
    signature=st.one_of(header_bytes, header_bytes.map(lambda b: b"v0=" + b), st.just(None)),
    body=st.binary(max_size=60),
)
def test_any_header_bytes_are_a_401(
    client: httpx2.AsyncClient, path: str, stamp: bytes | None, signature: bytes | None, body: bytes
) -> None:
    names = ((b"x-slack-request-timestamp", stamp), (b"x-slack-signature", signature))
    headers = [(name, value) for name, value in names if value is not None]
    assert status(client, path, body, headers) == 401


@settings(max_examples=150, deadline=None)
@given(path=st.sampled_from(PATHS), value=values, plausible=st.booleans())
def test_any_signed_json_is_taken_or_refused(
    client: httpx2.AsyncClient, path: str, value: Any, plausible: bool
) -> None:
    if plausible and isinstance(value, dict):
        value = {**PLAUSIBLE, **value}
    text = json.dumps(value)
    body = urlencode({"payload": text}) if path == "/slack/interactions" else text
    assert status(client, path, body.encode(), signed(body)) in {200, 400, 503}


@settings(max_examples=80, deadline=None)
@given(form=st.dictionaries(st.sampled_from(["text", "team_id", "trigger_id", "enterprise_id", "x"]), words))
def test_any_signed_form_is_taken_or_refused(client: httpx2.AsyncClient, form: dict[str, str]) -> None:
    body = urlencode({"team_id": "T1", **form}, errors="replace")
    assert status(client, "/slack/commands", body.encode(), signed(body)) in {200, 400}


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(["message_action", "block_actions", "view_submission"]), inner=values, name=words)
def test_interactions_with_any_inside_are_taken_or_refused(
    client: httpx2.AsyncClient, kind: str, inner: Any, name: str
) -> None:
    payload = {
        **PLAUSIBLE,
        "type": kind,
        "callback_id": SHORTCUT,
        "message": inner,
        "actions": [inner],
        "view": {"callback_id": PASTE, "private_metadata": name, "state": {"values": inner}},
    }
    body = urlencode({"payload": json.dumps(payload)})
    assert status(client, "/slack/interactions", body.encode(), signed(body)) in {200, 400, 503}
