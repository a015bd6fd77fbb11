"""POST /webhooks/github: which calls are taken, and that none makes it fall over."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import httpx2
import psycopg
import pytest
from fastapi import FastAPI
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.github.routes import HookOptions, github_router, signed
from bot.http.body import BODY_LIMIT
from bot.jobs.queue import Accepted, NewDelivery
from bot.runtime.metrics import Metrics
from tests.bot.service.calls import headers, issue_payload, signature

OPTIONS = HookOptions(secrets=(b"s1", b"s2"), keep_text=True, edit_delay=3.0)


class Inbox:
    """Takes deliveries into a list, or fails."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.taken: list[NewDelivery] = []
        self.failure = failure

    async def accept(self, new: NewDelivery) -> Accepted:
        if self.failure is not None:
            raise self.failure
        json.dumps(new.payload)
        self.taken.append(new)
        return "queued"


def call(
    body: bytes | AsyncIterator[bytes],
    head: dict[Any, Any],
    inbox: Inbox | None = None,
    options: HookOptions = OPTIONS,
) -> httpx2.Response:
    app = FastAPI()
    app.include_router(github_router(options, (inbox or Inbox()).accept, Metrics()))

    async def go() -> httpx2.Response:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://bot") as client:
            return await client.post("/webhooks/github", content=body, headers=head)

    return asyncio.run(go())


def opened(**changes: Any) -> bytes:
    return json.dumps({**issue_payload(), **changes}).encode()


@pytest.mark.parametrize("secret", ["s1", "s2"])
def test_any_of_the_secrets_signs(secret: str) -> None:
    inbox = Inbox()
    answer = call(opened(), headers(opened(), secret=secret), inbox)
    assert (answer.status_code, answer.json()) == (202, {"status": "queued"})
    assert [(d.event, d.action, d.lock, d.coalesce_key, d.delay) for d in inbox.taken] == [
        ("issues", "opened", "github:11:1", "github:11:1", 0.0)
    ]


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "sha256=",
        "sha1=" + "0" * 40,
        "sha256=" + "0" * 64,
        "sha256=é",
        signature(opened(), "another"),
        signature(opened())[:-1],
        signature(opened()).upper(),
        signature(opened()) + " ",
    ],
)
def test_a_signature_that_does_not_fit_is_401(header: str | None) -> None:
    head = headers(opened())
    del head["x-hub-signature-256"]
    if header is not None:
        head["x-hub-signature-256"] = header
    inbox = Inbox()
    sent = {name: value.encode("latin-1") for name, value in head.items()}
    assert call(opened(), sent, inbox).status_code == 401
    assert inbox.taken == []


def test_without_a_secret_everything_is_refused() -> None:
    nothing = HookOptions(secrets=(), keep_text=True, edit_delay=0)
    assert call(opened(), headers(opened(), secret=""), options=nothing).status_code == 401


@pytest.mark.parametrize("lacking", ["x-github-delivery", "x-github-event"])
def test_a_missing_id_or_event_is_400(lacking: str) -> None:
    head = headers(opened())
    del head[lacking]
    assert call(opened(), head).status_code == 400


def test_an_endless_id_is_400() -> None:
    assert call(opened(), headers(opened(), delivery="x" * 101)).status_code == 400


def test_a_body_above_two_megabytes_is_413_declared_or_not() -> None:
    body = opened(padding="x" * BODY_LIMIT)
    assert call(body, headers(body)).status_code == 413

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 65_536):
            yield body[start : start + 65_536]

    assert call(chunks(), headers(body)).status_code == 413


def test_a_body_just_below_the_limit_is_taken() -> None:
    body = opened()
    body = opened(padding="x" * (BODY_LIMIT - len(body) - 15))
    assert len(body) <= BODY_LIMIT
    assert call(body, headers(body)).status_code == 202


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"1", b"null", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000, b"1" * 10_000]
)
def test_what_is_no_json_object_is_400(body: bytes) -> None:
    assert call(body, headers(body)).status_code == 400


@pytest.mark.parametrize("event", ["ping", "push", "star", "no_such_event", "issues.opened", "ISSUES"])
def test_an_unknown_event_is_taken_and_ignored(event: str) -> None:
    inbox = Inbox()
    answer = call(opened(), headers(opened(), event=event), inbox)
    assert (answer.status_code, answer.json()) == (202, {"status": "ignored"})
    assert inbox.taken == []


def test_a_form_is_read_too() -> None:
    body = urlencode({"payload": opened().decode()}).encode()
    head = headers(body) | {"content-type": "application/x-www-form-urlencoded"}
    inbox = Inbox()
    assert call(body, head, inbox).status_code == 202
    assert len(inbox.taken) == 1


def test_an_edit_waits_for_the_next_one() -> None:
    inbox = Inbox()
    body = json.dumps(issue_payload(action="edited")).encode()
    call(body, headers(body), inbox)
    assert [d.delay for d in inbox.taken] == [3.0]


def test_no_secret_of_a_report_is_stored() -> None:
    inbox = Inbox()
    token = "ghp_" + "a1B2" * 9
    payload = issue_payload(title=f"token {token}", body=f"x\n{token}\n")
    payload["changes"] = {"body": {"from": token}}
    payload["unknown"] = token
    body = json.dumps(payload).encode()
    call(body, headers(body), inbox)
    assert token not in json.dumps(inbox.taken[0].payload)


def test_a_database_that_is_away_is_503_for_github_to_note() -> None:
    answer = call(opened(), headers(opened()), Inbox(psycopg.OperationalError("down")))
    assert answer.status_code == 503


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(
    parts=st.fixed_dictionaries(
        {},
        optional={
            "action": JSON,
            "issue": JSON
            | st.fixed_dictionaries({"number": JSON, "body": JSON, "title": JSON, "user": JSON}),
            "repository": JSON,
            "installation": JSON,
            "sender": JSON,
            "changes": JSON,
            "comment": JSON,
            "label": JSON,
        },
    ),
    event=st.sampled_from(
        ["issues", "issue_comment", "installation", "installation_repositories", "ping", "x"]
    ),
)
def test_whatever_is_signed_gets_an_answer(parts: dict[str, Any], event: str) -> None:
    body = json.dumps({**issue_payload(), **parts}).encode()
    assert call(body, headers(body, event=event)).status_code == 202


@settings(max_examples=200, deadline=None)
@given(header=st.none() | st.binary(), body=st.binary(max_size=50), secrets=st.lists(st.binary(), max_size=3))
def test_checking_a_signature_never_raises(header: bytes | None, body: bytes, secrets: list[bytes]) -> None:
    assert signed(body, header, secrets) is False
    assert signed(body, header and b"sha256=" + header, secrets) is False


@settings(max_examples=60, deadline=None)
@given(
    values=st.dictionaries(
        st.sampled_from(
            ["x-hub-signature-256", "x-github-delivery", "x-github-event", "content-type", "content-length"]
        ),
        st.binary(max_size=30).map(lambda raw: bytes(byte for byte in raw if byte not in b"\r\n\0")),
    )
)
def test_whatever_the_headers_hold_the_answer_is_a_refusal(values: dict[str, bytes]) -> None:
    base = {name: value.encode() for name, value in headers(opened()).items()}
    broken = {**base, **values}
    status = call(opened(), broken).status_code
    assert status in {202, 400, 401, 413}
