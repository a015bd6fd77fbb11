"""The tracker's state on the maintainers' page: waves, what fails most, who waits for whom; and the replay's page."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

from bot.db.deliveries import Deliveries
from bot.github.records import IssueRef, RepoRef, Request, Resolution
from bot.github.store.postgres import PostgresStore
from bot.history.records import KeptIssue, Progress
from bot.history.replay import keep_replay
from bot.history.search import still_open
from bot.history.store import PostgresHistory
from bot.history.wave_store import WaveTables
from bot.history.waves import Noted
from bot.history.waves import follow as follow_waves
from bot.runtime.resources import Service
from tests.bot.service.conftest import OpenService
from tests.bot.service.test_page import NASTY, SECRET, client_of, link
from tests.knowledge.history.tiny import AGAIN, made

NOW = datetime.now(UTC)
OOM = "signature:cuda-out-of-memory"


def noted(service: Service, number: int, days: float, **more: Any) -> WaveTables:
    values: dict[str, Any] = {
        "installation_id": 7,
        "repo_id": 700,
        "repo_name": "octo/train",
        "author": f"user{number}",
        "title": f"Report {number}",
        "keys": (),
        "versions": {"torch": "2.6.0"},
    }
    tables = WaveTables(service.threads)
    tables.note(Noted(**{**values, "number": number, "opened": NOW - timedelta(days=days), **more}), (), None)
    return tables


async def tracker(service: Service, client: httpx2.AsyncClient) -> str:
    """The page of a session that sees everything."""
    await client.get(link(service))
    return (await client.get("/tracker")).text


def words(html: str) -> str:
    """The page's text in one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_a_wave_is_on_the_page_with_its_reports(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            for n in range(40):
                noted(service, 100 + n, 4 + 2 * n)
            for n in range(1, 6):
                tables = noted(service, n, 1, keys=("failure:nccl-watchdog-timeout", OOM), title=NASTY)
            follow_waves(tables, 4, NOW)
            page = await tracker(service, client)
            text = words(page)
            assert "5 reports in 1 day" in text
            assert "All torch 2.6.0. None in the 90 days before." in text
            assert "octo/train#5</a> &lt;script&gt;" in page
            assert page.count("<script") == 1, "the page's own"
            for other in ("/tracker?repo=octo/other", "/tracker?installation=8"):
                assert "5 reports in 1 day" not in (await client.get(other)).text

    asyncio.run(go())


def test_what_fails_most_is_counted_once_and_beside_the_time_before(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            for n in range(3):
                noted(service, n + 1, 2 + n, keys=("failure:nccl-watchdog-timeout", "signature:nccl-timeout"))
            for n in range(2):
                noted(service, n + 10, 5, keys=(OOM,))
                noted(service, n + 20, 40, keys=(OOM,))
            noted(service, 30, 5, keys=("signature:port-in-use",))
            page = await tracker(service, client)
            table = page[page.index("What fails most") : page.index("Waits on maintainers")]
            rows = [words(row) for row in re.findall(r"<tr>.*?</tr>", table, re.S)][1:]
            assert len(rows) == 2, (
                "one report is no failure that comes often, and a signature of another none"
            )
            assert rows[0].endswith("octo/train 3 0 octo/train#3")
            assert rows[1].endswith("octo/train 2 2 octo/train#21")

    asyncio.run(go())


def test_who_waits_for_whom(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            store = PostgresStore(service.threads)
            for number in range(1, 7):
                tables = noted(service, number, 10 - number)
            ref = IssueRef(7, RepoRef(700, "octo/train"), 1)
            store.save_request(ref, Request("log", "Post the log of rank 0.", "h", NOW - timedelta(days=3)))
            arrived = Request("log", "Post it.", "h", NOW - timedelta(days=3), "arrived", NOW)
            store.save_request(replace(ref, number=2), arrived)
            tables.answered(700, 3, NOW)
            tables.closed(700, 4, NOW)
            store.save_resolution(
                replace(ref, number=4), Resolution(NOW, "completed", "ada", "", "octo/train#77")
            )
            tables.closed(700, 5, NOW - timedelta(days=60))
            text = words(await tracker(service, client))
            maintainers = text[text.index("Waits on maintainers (2)") : text.index("Waits on the author (1)")]
            assert "octo/train#2 Report 2 what was asked for has arrived" in maintainers
            assert "octo/train#6" in maintainers
            author = text[
                text.index("Waits on the author (1)") : text.index("Answered or closed in 28 days (2)")
            ]
            assert "octo/train#1 Report 1 Post the log of rank 0." in author
            ended = text[text.index("Answered or closed in 28 days (2)") :]
            assert "octo/train#3 Report 3 answered" in ended
            assert "octo/train#4 Report 4 closed by octo/train#77" in ended
            assert "octo/train#5" not in text

    asyncio.run(go())


def filled(service: Service, installation: int = 7, name: str = "octo/train", **progress: Any) -> int:
    """A history of a report and, later, the same again, which people marked."""
    history = PostgresHistory(service.threads)
    repo = history.begin(name, "words", installation * 100, installation)
    [record] = made([AGAIN])
    for number, day in (("1", 1), ("2", 40)):
        one = replace(record, id=number, opened=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day))
        outcome = replace(still_open(), duplicates=("1",)) if number == "2" else still_open()
        kept = KeptIssue(number, "It hangs", "", "h", one.opened, outcome, one)
        history.save_page(repo.key, [kept], Progress(**progress))
    return repo.key


def test_how_far_a_back_fill_got_is_on_the_page(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            filled(service, source="github", cursor="c", read=50, total=400, began="2026-11-01T00:00:00")
            filled(service, 8, "octo/other", through="2026-11-02T00:00:00", began="2026-11-02T00:00:00")
            text = words(await tracker(service, client))
            assert "50 of 400; unless it waits for GitHub, go on with bot backfill octo/train" in text
            assert "octo/other 2 complete, 2026-11-02" in text
            now = datetime.now(UTC)
            for minutes, said in ((1, "2 of 400"), (30, "2 of 400 until {} UTC; unless it waits")):
                at = now - timedelta(minutes=minutes)
                filled(service, source="github", cursor="c", read=2, total=400, at=at.isoformat())
                page = await tracker(service, client)
                assert f"octo/train 2 {said.format(at.strftime('%Y-%m-%d %H:%M'))}" in words(page)
                assert ("<progress" in page, "go on with" in words(page)) == (minutes == 1, minutes != 1)

    asyncio.run(go())


def test_the_replay_is_asked_for_by_a_form_and_drawn_once_it_is_there(
    opened: OpenService, database: str
) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            key = filled(service)
            await client.get(link(service, installation=7))
            page = (await client.get(f"/replay?history={key}")).text
            assert "Not computed yet." in page and "<svg" not in page
            token = re.findall(r'name="form_token" value="([^"]*)"', page)[0]
            assert (await client.post("/replay", data={"history": key, "form_token": "x"})).status_code == 403
            asked = await client.post("/replay", data={"history": str(key), "form_token": token})
            assert "A replay is queued." in asked.text
            [delivery] = Deliveries(service.threads).newest()
            assert (delivery.source, delivery.event, delivery.subject) == ("history", "replay", "octo/train")
            await asyncio.to_thread(keep_replay, database, key)
            page = (await client.get(f"/replay?history={key}")).text
            assert "2 reports; 1 have an earlier one" in words(page)
            assert "2026-01: 1 reports" in page and "<polyline" in page
            assert "style=" not in page, "the page's policy forbids it"
            assert "octo/train#2 → octo/train#1 marked by people" in words(page)

    asyncio.run(go())


def test_a_replay_of_another_installation_is_not_shown(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            key = filled(service, 8, "secret/repo")
            assert (await client.get(f"/replay?history={key}")).status_code == 401
            await client.get(link(service, installation=7))
            for query in (str(key), "0", "x", "9" * 30):
                answer = await client.get(f"/replay?history={query}")
                assert answer.status_code == 404
                assert "secret" not in answer.text
            assert "secret/repo" not in (await client.get("/tracker")).text

    asyncio.run(go())
