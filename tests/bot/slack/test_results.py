"""A diagnostics result in the thread of a shared answer, or pasted by the asker, moves the answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from bot.db.deliveries import Deliveries
from bot.slack import words
from bot.slack.answer import MORE, SHARE
from bot.slack.inbound import event, storable, typed
from knowledge.diagnostics.result import MOST_BLOCKS, parse_result
from knowledge.diagnostics.runtime.main import block, checksum
from knowledge.engine import Knowledge, triage
from knowledge.readback import without_results
from knowledge.report import Report, has_result
from knowledge.triage import Triage
from tests.bot.fake_core import FakeCore, a_triage, axis
from tests.bot.service.conftest import OpenService
from tests.bot.slack.bench import Bench, bench
from tests.bot.slack.fake_slack import ROOM, FakeSlack
from tests.bot.slack.limits import buttons, shown


def result(rank: int = 0) -> str:
    made: dict[str, Any] = {
        "schema": "distriage-result/1",
        "script": "0" * 12,
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


def moved_by_results(report: Report) -> Triage:
    """What the engine makes of a report with results below it, in small."""
    if not has_result(report.body):
        return a_triage(report)
    found = [f"Shared memory: {one.who} has 64 MiB." for one in parse_result(report.body)]
    cause = axis(("hardware", 0.7), ("network_environment", 0.2))
    return a_triage(Report(report.id, "", without_results(report.body)), measured=found, cause=cause)


def core() -> FakeCore:
    return FakeCore(moved_by_results)


def as_slack_sends(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


async def shared(b: Bench) -> str:
    """The ts of a shared answer."""
    await b.press(SHARE, buttons(await b.triaged())[SHARE])
    await b.settled()
    return next(iter(b.fake.public))[1]


async def reply(b: Bench, thread: str, text: str, user: str = "U2", **more: Any) -> int:
    message = {
        "type": "message",
        "channel": ROOM,
        "user": user,
        "text": text,
        "ts": "9.9",
        "thread_ts": thread,
        **more,
    }
    return (await b.event(message)).status_code


def test_a_result_survives_slack_and_the_redaction() -> None:
    text = "here:\n" + result()
    assert parse_result(storable(typed(as_slack_sends(text)))) == parse_result(text)


def test_a_thread_reply_with_a_result_updates_the_answer(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake, core()) as b, b.worker():
            ts = await shared(b)
            assert "Cause: Network between" in shown(fake.public[(ROOM, ts)])
            assert await reply(b, ts, as_slack_sends(result())) == 200
            assert (await b.settled())[-1].reason == "shared answer updated"
            message = fake.public[(ROOM, ts)]
            assert "What the diagnostics script found" in shown(message)
            assert "Cause: Faulty or unsuitable hardware" in shown(message)
            assert len(fake.public) == 1
            await reply(b, ts, as_slack_sends(f"here is the other one: hunter2\n{result(rank=1)}\nthanks"))
            await b.settled()
            message = fake.public[(ROOM, ts)]
            assert "• Shared memory: rank 0 has 64 MiB." in shown(message)
            assert "• Shared memory: rank 1 has 64 MiB." in shown(message)
            kept = b.ports.store.results(buttons(message)["dt_wrong"])
            assert len(kept) == 2
            assert not any("hunter2" in text for text in kept), "of a reply only its blocks are kept"
            await b.press(MORE, buttons(message)["dt_more"])
            await b.settled()
            assert "What the diagnostics script found" in shown(fake.to("U1")[-1])

    asyncio.run(go())


def test_a_result_as_a_file_in_the_thread_is_read(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake, core()) as b, b.worker():
            ts = await shared(b)
            fake.add_file("F0RES", result().encode(), user="U2")
            fake.add_file("F0CAT", b"a cat", user="U2")
            await reply(b, ts, "look", subtype="file_share", files=[{"id": "F0CAT"}])
            await reply(b, ts, "", subtype="file_share", files=[{"id": "F0RES"}])
            ends = await b.settled()
            assert sorted(str(e.reason) for e in ends[-2:]) == [
                "adds nothing",
                "shared answer updated",
            ]

    asyncio.run(go())


def test_a_damaged_result_is_told_to_its_sender_alone(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake, core()) as b, b.worker():
            ts = await shared(b)
            before = dict(fake.public)
            await reply(b, ts, as_slack_sends(result().replace("tiny", "fine")))
            assert (await b.settled())[-1].reason == "told"
            (told,) = fake.to("U2")
            assert "doesn't match its checksum" in told["text"]
            assert told["thread_ts"] == ts
            assert fake.public == before

    asyncio.run(go())


def test_other_messages_leave_no_trace(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake, core()) as b, b.worker():
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
        async with bench(opened, fake, core()) as b, b.worker():
            await b.command(result(), user="U3")
            await b.settled()
            assert fake.to("U3")[-1]["text"] == words.NO_RESULT_HERE
            await b.triaged()
            await b.command(result())
            await b.settled()
            assert "What the diagnostics script found" in shown(fake.to("U1")[-1])
            assert b.core.calls == 2

    asyncio.run(go())


def test_a_report_with_its_result_is_a_report(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake, core()) as b, b.worker():
            await b.triaged("an older report")
            fake.add_file("F0LOG", ("NCCL timeout\n" * 40 + result()).encode())
            await b.command("https://acme.slack.com/files/U1/F0LOG/run.log")
            await b.settled()
            fresh = shown(fake.to("U1")[-1])
            assert "NCCL timeout" in fresh
            assert "What the diagnostics script found" in fresh
            short = f"/triage of a run\n{result()}"
            await b.command(short, user="U4")
            await b.settled()
            assert "of a run" in shown(fake.to("U4")[-1]), "nothing else it could belong to"

    asyncio.run(go())


def test_results_that_are_too_many_together_are_refused_and_not_kept(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake, core()) as b, b.worker():
            id_ = buttons(await b.triaged())["dt_wrong"]
            fake.add_file("F0MANY", "\n".join(result(rank) for rank in range(MOST_BLOCKS)).encode())
            link = "https://acme.slack.com/files/U1/F0MANY/results.txt"
            await b.command(link)
            await b.settled()
            await b.command(result(rank=9999))
            assert [d.state for d in await b.settled()] == ["done"] * 3
            assert "more than 1024 blocks" in fake.to("U1")[-1]["text"]
            assert len(b.ports.store.results(id_)) == 1

    asyncio.run(go())


def test_the_engine_reads_the_results_that_slack_keeps(
    opened: OpenService, fake: FakeSlack, knowledge: Knowledge
) -> None:
    def engine(report: Report) -> Triage:
        return triage(report, knowledge)

    async def go() -> None:
        async with bench(opened, fake, FakeCore(engine)) as b, b.worker():
            asked = await b.triaged(
                "RuntimeError: DataLoader worker (pid 4242) is killed by signal: Bus error."
            )
            await b.command(as_slack_sends(result()))
            await b.settled()
            moved = b.ports.store.triage("T1", buttons(asked)["dt_wrong"])
            assert moved is not None
            assert moved.triage.measured[0].startswith("Shared memory")
            assert "• Shared memory" in shown(fake.to("U1")[-1])

    asyncio.run(go())


def test_events_of_a_retry_are_one_delivery_and_the_handshake_is_answered(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake, core()) as b:
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
