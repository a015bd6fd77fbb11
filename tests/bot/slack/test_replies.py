"""Logs that people post in the thread of a shared answer: read, kept with it, and the answer updated."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.slack import asking
from knowledge.report import Report
from knowledge.triage import Triage
from tests.bot.fake_core import FakeCore, a_triage
from tests.bot.service.conftest import OpenService
from tests.bot.slack.bench import Bench, bench
from tests.bot.slack.fake_slack import ROOM, FakeSlack
from tests.bot.slack.limits import buttons, shown
from tests.bot.slack.test_results import as_slack_sends, reply, shared

LOG = """```
2026-05-03 10:02:31 rank 3: ncclSystemError: connection refused
2026-05-03 10:02:32 rank 3: exit code 1
```"""


def quoting(report: Report) -> Triage:
    return a_triage(Report(report.id, "", f"{report.title}\n{report.body}"))


def core() -> FakeCore:
    return FakeCore(quoting)


def kept(b: Bench, fake: FakeSlack, ts: str) -> list[str]:
    return [one.text for one in b.ports.store.replies(buttons(fake.public[(ROOM, ts)])["dt_wrong"])]


async def change(b: Bench, ts: str, kind: str, before: str, after: str | None = None) -> int:
    """Slack tells that the reply "9.9" was edited or deleted."""
    old = {"user": "U2", "text": before, "ts": "9.9", "thread_ts": ts}
    new = {"message": {**old, "text": after}} if after is not None else {"deleted_ts": "9.9"}
    event: dict[str, Any] = {
        "type": "message",
        "subtype": kind,
        "channel": ROOM,
        "ts": "10.0",
        "previous_message": old,
        **new,
    }
    return (await b.event(event)).status_code


def test_a_log_in_the_thread_updates_the_answer(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake, core()) as b, b.worker():
            ts = await shared(b)
            assert "ncclSystemError" not in shown(fake.public[(ROOM, ts)])
            await reply(b, ts, as_slack_sends(LOG))
            assert (await b.settled())[-1].reason == "shared answer updated"
            assert "ncclSystemError" in shown(fake.public[(ROOM, ts)])
            assert len(fake.public) == 1

    asyncio.run(go())


def test_an_edited_log_replaces_itself_and_a_deleted_one_is_gone(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake, core()) as b, b.worker():
            ts = await shared(b)
            await reply(b, ts, LOG)
            await b.settled()
            other = LOG.replace("connection refused", "no route to host")
            await change(b, ts, "message_changed", LOG, other)
            await b.settled()
            assert "no route to host" in shown(fake.public[(ROOM, ts)])
            assert "connection refused" not in shown(fake.public[(ROOM, ts)])
            await change(b, ts, "message_deleted", other)
            await b.settled()
            assert "ncclSystemError" not in shown(fake.public[(ROOM, ts)])
            assert kept(b, fake, ts) == []

    asyncio.run(go())


def test_of_the_asker_short_answers_count_and_of_others_logs_alone(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake, core()) as b, b.worker():
            ts = await shared(b)
            before = len(await b.settled())
            await reply(b, ts, "torchrun --nproc_per_node 8 train.py", user="U2")
            await reply(b, ts, "thanks, looking", user="U1")
            assert len(await b.settled()) == before, "nothing of them is stored"
            await reply(b, ts, "torchrun --nproc_per_node 8 train.py", user="U1")
            await b.settled()
            assert kept(b, fake, ts) == ["torchrun --nproc_per_node 8 train.py"]

    asyncio.run(go())


def test_a_log_as_a_file_is_read_and_a_secret_is_redacted(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake, core()) as b, b.worker():
            ts = await shared(b)
            secret = f"ghp_{'a1B2' * 9}"
            fake.add_file("F0LOG", f"{LOG}\nexport GITHUB_TOKEN={secret}".encode(), user="U2")
            await reply(b, ts, "", subtype="file_share", files=[{"id": "F0LOG"}])
            await b.settled()
            [text] = kept(b, fake, ts)
            assert "ncclSystemError" in text
            assert secret not in text

    asyncio.run(go())


def test_after_many_updates_an_answer_stays_as_it_is_but_what_is_deleted_goes(
    opened: OpenService, fake: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "MOST_UPDATES", 1)

    async def go() -> None:
        async with bench(opened, fake, core()) as b, b.worker():
            ts = await shared(b)
            await reply(b, ts, LOG)
            await b.settled()
            await reply(b, ts, LOG.replace("refused", "reset by peer"), ts="9.95")
            assert (await b.settled())[-1].reason == "many_updates"
            assert "reset by peer" not in shown(fake.public[(ROOM, ts)])
            await change(b, ts, "message_deleted", LOG)
            await b.settled()
            assert kept(b, fake, ts) == []
            assert "ncclSystemError" not in shown(fake.public[(ROOM, ts)])

    asyncio.run(go())


def test_a_log_in_another_thread_leaves_no_trace(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake, core()) as b, b.worker():
            ts = await shared(b)
            before = len(await b.settled())
            await reply(b, "1.0", LOG)
            await reply(b, ts, LOG, bot_id="B1")
            await reply(b, ts, LOG, channel="C0OTHER")
            await change(b, ts, "message_changed", LOG, LOG)
            assert len(await b.settled()) == before

    asyncio.run(go())
