"""Tokens that expire: renewed in time, by one process, and kept encrypted."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from bot.slack.records import Unreachable
from bot.slack.tokens import InstalledTokens
from tests.bot.service.conftest import OpenService
from tests.bot.slack.bench import Bench, bench
from tests.bot.slack.fake_slack import FakeSlack
from tests.bot.slack.limits import shown
from tests.bot.slack.test_installing import CLIENT, GRANT, come_back, set_out

HALF_A_DAY = timedelta(hours=12)


async def installed(b: Bench) -> str:
    """Install an app with token rotation; its first token."""
    b.fake.moment = lambda: b.clock.now().timestamp()
    grant = {**GRANT, **b.fake.grant("first")}
    b.fake.codes["good"] = grant
    assert (await come_back(b, *await set_out(b))).status_code == 200
    return str(grant["access_token"])


def token(b: Bench) -> Any:
    return b.ports.tokens.token("T1")


def test_a_token_is_renewed_before_it_expires_and_lies_encrypted(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake, **CLIENT) as b:
            first = await installed(b)
            assert token(b) == first
            assert fake.calls.count("oauth.v2.access") == 1
            b.clock.shift += HALF_A_DAY - timedelta(hours=1)
            second = token(b)
            assert second != first
            assert token(b) == second
            assert fake.calls.count("oauth.v2.access") == 2
            with b.service.threads.connection() as connection:
                (row,) = connection.execute("SELECT t::text FROM slack_installations AS t").fetchall()
            assert "xoxe" not in str(row)

    asyncio.run(go())


def test_long_after_it_expired_an_answer_still_finds_its_way(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake, **CLIENT) as b, b.worker():
            await installed(b)
            b.clock.shift += 5 * HALF_A_DAY
            await b.command("", trigger_id="t-late")
            assert len(fake.views) == 1
            fake.add_file("F0LOG", b"NCCL timeout")
            await b.command("https://acme.slack.com/files/U1/F0LOG/run.log")
            await b.settled()
            assert "NCCL timeout" in shown(fake.to("U1")[-1])

    asyncio.run(go())


def test_many_that_need_it_at_once_renew_it_once(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake, **CLIENT) as b:
            await installed(b)
            b.clock.shift += HALF_A_DAY
            found = await asyncio.gather(*(asyncio.to_thread(token, b) for _ in range(6)))
            assert len(set(found)) == 1
            assert fake.calls.count("oauth.v2.access") == 2

    asyncio.run(go())


def test_without_an_answer_the_old_token_serves_until_its_end(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake, **CLIENT) as b:
            first = await installed(b)
            fake.faults["oauth.v2.access"] = [lambda: PlainTextResponse("down", 503)] * 2
            b.clock.shift += HALF_A_DAY - timedelta(hours=1)
            assert token(b) == first
            b.clock.shift += timedelta(hours=2)
            with pytest.raises(Unreachable):
                token(b)
            assert token(b) != first

    asyncio.run(go())


def test_what_cannot_be_renewed_counts_as_none_and_is_said_by_the_buttons(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake, **CLIENT) as b:
            await installed(b)
            fake.refreshes.clear()
            b.clock.shift += HALF_A_DAY
            assert token(b) is None
            no_client = InstalledTokens(b.ports.store, b.ports.vault, b.ports.api, b.clock, None)
            assert no_client.token("T1") is None

    asyncio.run(go())
