"""A diagnostics result in the thread of a shared answer, or pasted by the asker, moves the answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from bot.db.deliveries import Deliveries
from bot.slack import words
from bot.slack.answer import SHARE
from bot.slack.inbound import event
from bot.slack.incoming_text import storable, typed
from knowledge.diagnostics import parse_result
from knowledge.diagnostics.runtime.main import block, checksum
from tests.bot.service.conftest import OpenService
from tests.bot.slack.bench import Bench, bench
from tests.bot.slack.fake_slack import ROOM, FakeSlack
from tests.bot.slack.limits import buttons, shown


def result(rank: int = 0) -> str:
    made: dict[str, Any] = {
        "schema": "distriage-result/1",
        "script": "0123456789ab",
        "host": "host-abcdef",
        "rank": rank,
        "world_size": 2,
        "platform": "linux",
        "python": "3.11.2",
        "started": 1_700_000_000,
        "seconds": 1.25,
        "probes": [{"id": "shm_size", "outcome": "tiny", "seconds": 0.01, "facts": {"total_mib": 64}}],
    }
    made["checksum"] = checksum(made)
    return block(made)


def as_slack_sends(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


async def shared(b: Bench) -> str:
    """The ts of a shared answer."""
    await b.press(SHARE, buttons(await b.triaged())[SHARE])
    await b.settled()
    return next(iter(b.fake.public))[1]


async def reply(b: Bench, ts: str, text: str, user: str = "U2", **more: Any) -> int:
    message = {
        "type": "message",
        "channel": ROOM,
        "user": user,
        "text": text,
        "ts": "9.9",
        "thread_ts": ts,
        **more,
    }
    return (await b.event(message)).status_code


def test_a_result_survives_slack_and_the_redaction() -> None:
    text = "here:\n" + result()
    assert parse_result(storable(typed(as_slack_sends(text)))) == parse_result(text)


def test_a_thread_reply_with_a_result_updates_the_answer(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            ts = await shared(b)
            assert "a hypothesis: Network between" in shown(fake.public[(ROOM, ts)])
            assert await reply(b, ts, as_slack_sends(result())) == 200
            assert (await b.settled())[-1].reason == "shared answer updated"
            message = fake.public[(ROOM, ts)]
            assert "After the diagnostics results" in shown(message)
            assert "Memory or core limits" in shown(message)
            assert len(fake.public) == 1
            await reply(b, ts, as_slack_sends(result(rank=1)))
            await b.settled()
            assert "After the diagnostics results" in shown(fake.public[(ROOM, ts)])
            assert len(b.ports.store.results(buttons(message)["dt_wrong"])) == 2

    asyncio.run(go())


def test_a_result_as_a_file_in_the_thread_is_read(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            ts = await shared(b)
            fake.add_file("F0RES", result().encode(), user="U2")
            fake.add_file("F0CAT", b"a cat", user="U2")
            await reply(b, ts, "look", subtype="file_share", files=[{"id": "F0CAT"}])
            await reply(b, ts, "", subtype="file_share", files=[{"id": "F0RES"}])
            ends = await b.settled()
            assert sorted(str(e.reason) for e in ends[-2:]) == [
                "no result in the reply",
                "shared answer updated",
            ]

    asyncio.run(go())


def test_a_damaged_result_is_told_to_its_sender_alone(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            ts = await shared(b)
            before = dict(fake.public)
            await reply(b, ts, as_slack_sends(result().replace("tiny", "fine")))
            assert (await b.settled())[-1].reason == "told"
            (told,) = fake.to("U2")
            assert "does not match its checksum" in told["text"]
            assert told["thread_ts"] == ts
            assert fake.public == before

    asyncio.run(go())


def test_other_messages_leave_no_trace(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            ts = await shared(b)
            before = len(await b.settled())
            await reply(b, ts, "thanks!")
            await reply(b, "1.0", result())
            await reply(b, ts, result(), bot_id="B1")
            await reply(b, ts, result(), subtype="message_changed")
            await reply(b, ts, result(), channel="C0OTHER")
            assert len(await b.settled()) == before

    asyncio.run(go())


def test_a_result_pasted_by_the_asker_goes_to_their_last_triage(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            await b.command(result(), user="U3")
            await b.settled()
            assert fake.to("U3")[-1]["text"] == words.NO_RESULT_HERE
            await b.triaged()
            await b.command(result())
            await b.settled()
            assert "After the diagnostics results" in shown(fake.to("U1")[-1])
            assert b.core.calls == 1

    asyncio.run(go())


def test_events_of_a_retry_are_one_delivery_and_the_handshake_is_answered(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b:
            shake = {"type": "url_verification", "challenge": "c1"}
            body = json.dumps(shake)
            assert (await b.post("/slack/events", body)).json() == {"challenge": "c1"}
            for _ in range(3):
                await b.event({"type": "app_uninstalled"}, event_id="Ev7")
            assert len(await asyncio.to_thread(Deliveries(b.service.threads).newest)) == 1

    asyncio.run(go())


def test_events_of_no_interest_ask_for_nothing() -> None:
    for kind in ("app_home_opened", "reaction_added", "message", ""):
        outer = {"type": "event_callback", "team_id": "T1", "event_id": "E", "event": {"type": kind}}
        decision = event(outer, 0.0)
        assert getattr(decision, "body", 0) is None, kind
