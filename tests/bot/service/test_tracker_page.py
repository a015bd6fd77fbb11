"""The tracker's state on the maintainers' page: waves, what fails most, who waits for whom; and the replay's page."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx2

from bot.db.deliveries import Deliveries
from bot.github.history_jobs import history_job
from bot.github.records import IssueRef, RepoRef, Request, Resolution
from bot.github.store.postgres import PostgresStore
from bot.history.label_store import LabelTables
from bot.history.records import KeptIssue, Progress
from bot.history.replay.job import keep_replay
from bot.history.search import still_open
from bot.history.store import PostgresHistory
from bot.history.wave_store import WaveTables
from bot.history.waves import Noted
from bot.history.waves import follow as follow_waves
from bot.page.tables import BY
from bot.runtime.resources import Service
from tests.bot.service.conftest import OpenService
from tests.bot.service.test_page import NASTY, SECRET, client_of, link, record, votes_on
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


def filled(
    service: Service,
    installation: int = 7,
    name: str = "octo/train",
    marks: tuple[str, ...] = ("1",),
    **progress: Any,
) -> int:
    """A history of a report and, later, the same again, which people marked."""
    history = PostgresHistory(service.threads)
    repo = history.begin(name, "words", installation * 100, installation)
    [record] = made([AGAIN])
    for number, day in (("1", 1), ("2", 40)):
        one = replace(record, id=number, opened=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day))
        outcome = replace(still_open(), duplicates=marks) if number == "2" else still_open()
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
            page = (await client.get("/replays")).text
            assert "Not computed yet." in page and "<svg" not in page, "the only one is shown at once"
            token = re.findall(r'name="form_token" value="([^"]*)"', page)[0]
            assert (await client.post("/replay", data={"history": key, "form_token": "x"})).status_code == 403
            form = {"history": str(key), "form_token": token}
            assert (await client.post("/replay", data={**form, "since": "May"})).status_code == 422
            asked = await client.post("/replay", data={**form, "since": "2026-01-20"})
            assert "The replay is being computed" in asked.text and "data-reload" in asked.text
            [delivery] = Deliveries(service.threads).newest()
            assert (delivery.source, delivery.event, delivery.subject) == ("history", "replay", "octo/train")
            assert delivery.payload["since"] == "2026-01-20"
            await asyncio.to_thread(keep_replay, database, key, date(2026, 1, 20))
            page = (await client.get(f"/replay?history={key}")).text
            text = words(page)
            assert "Had distriage been on since January 20, 2026: octo/train" in text
            assert "A replay is being computed." in text, "the old one stays while a new one waits"
            assert (
                "1 issue was opened since. 1 from before, too, could be named as earlier ones. 1 would have"
                in text
            )
            assert "2026-02: 1 opened" in page and "2026-01" not in page.partition("<svg")[2]
            assert "<polyline" in page and "style=" not in page, "the page's policy forbids it"
            comment = text[text.index("Comments that would have been written") :]
            assert "2026-02-10 #2 It hangs earlier issue, marked by people" in comment
            assert "This looks like the same failure as octo/train#1 (It hangs): " in comment
            assert 'href="https://github.com/octo/train/issues/2"' in page

    asyncio.run(go())


def test_a_match_that_is_judged_on_the_replay_counts_as_marked_the_next_time(
    opened: OpenService, database: str
) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            key = filled(service, marks=())
            tables = LabelTables(service.threads)
            await client.get(link(service, installation=7))

            async def computed() -> str:
                await asyncio.to_thread(keep_replay, database, key)
                return (await client.get(f"/replay?history={key}")).text

            page = await computed()
            assert "0 of 2 issues have an earlier one that people marked" in words(page)
            assert "The same failure as #1 It hangs?" in words(page) and 'id="issue-2"' in page
            [asked] = votes_on(page)
            assert not re.search(r"✓|>Undo<", page)
            answer = await client.post("/votes", data={**asked, "agrees": "yes"}, follow_redirects=False)
            assert answer.headers["location"] == f"/replay?history={key}#issue-2"
            [vote] = tables.votes(key, "same")
            assert (vote.id, vote.subject, vote.by, vote.role, vote.agrees) == (
                "2", "1", BY, "maintainer", True,
            )  # fmt: skip
            page = (await client.get(f"/replay?history={key}")).text
            assert page.count("✓ Right") == 1 and "Votes since then are not in its figures yet." in page
            page = await computed()
            assert "1 of 2 issues have an earlier one that people marked" in words(page)
            assert "earlier issue, marked by people" in page and "Votes since then" not in page
            assert page.count("✓ Right") == 1, "the vote stays"
            page = (await client.post("/votes", data={**asked, "agrees": "no"})).text
            assert page.count("✓ Wrong") == 1 and "✓ Right" not in page
            assert "earlier issue, not marked" in await computed()
            page = (await client.post("/votes", data={**asked, "undo": "1"})).text
            assert not re.search(r"✓|>Undo<", page) and tables.votes(key, "same") == []

    asyncio.run(go())


def test_only_a_match_that_a_replay_names_is_judged_there_and_by_nobody_else(
    opened: OpenService, database: str
) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            keys = [filled(service), filled(service, 8, "secret/repo")]
            for key in keys:
                await asyncio.to_thread(keep_replay, database, key)
            await client.get(link(service, installation=7))
            [asked] = votes_on((await client.get(f"/replay?history={keys[0]}")).text)
            wrong = [{"issue": "1"}, {"issue": ""}, {"subject": "2"}, {"kind": "label"}, {"agrees": "maybe"}]
            for change in [*wrong, *({"history": text} for text in (str(keys[1]), "0", "x"))]:
                answer = await client.post("/votes", data={**asked, "agrees": "yes", **change})
                assert (answer.status_code, "does not name that earlier issue" in answer.text) == (404, True)
                assert "secret" not in answer.text
            forged = {**asked, "agrees": "yes", "form_token": "x"}
            assert (await client.post("/votes", data=forged)).status_code == 403
            client.cookies.clear()
            assert (await client.post("/votes", data={**asked, "agrees": "yes"})).status_code == 403
            assert [LabelTables(service.threads).votes(key, "same") for key in keys] == [[], []]

    asyncio.run(go())


def test_a_replay_of_an_older_version_is_shown_without_buttons(opened: OpenService, database: str) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            key = filled(service)
            await asyncio.to_thread(keep_replay, database, key)
            store = PostgresHistory(service.threads)
            at, result = store.kept_replay(key) or (NOW, {})
            for comment in result["comments"]:
                del comment["earlier"], comment["issue"]["id"]
            store.save_replay(key, at, result)
            await client.get(link(service))
            page = (await client.get(f"/replay?history={key}")).text
            assert "This looks like the same failure as" in page
            assert votes_on(page) == [] and 'id="issue-' not in page and "are votes" not in page

    asyncio.run(go())


def test_whoever_just_installed_sees_how_far_it_is_and_then_the_replay(
    opened: OpenService, database: str
) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            told = await client.get("/installed?installation_id=7&setup_action=install")
            assert (told.status_code, "sign in with a link" in told.text) == (200, True)
            await client.get(link(service, installation=7))
            empty = await client.get("/installed?installation_id=8&setup_action=install")
            assert str(empty.url).endswith("/replays") and "is being read yet" in empty.text
            for repo in (RepoRef(700, "octo/train"), RepoRef(800, "secret/repo")):
                await service.accept(history_job("backfill", repo.id // 100, repo, NOW))
            waits = words((await client.get("/replays")).text)
            assert "octo/train 0 waits for a worker after reading" in waits
            assert "The history of octo/train is being read" in words((await client.get("/")).text)
            key = filled(
                service, source="github", cursor="c", read=50, total=400, began="2026-11-01T00:00:00"
            )
            page = (await client.get("/installed")).text
            assert "are being read: 50 of 400" in words(page) and "data-reload" in page
            assert "(50 of 400 issues)" in words((await client.get("/")).text)
            await asyncio.to_thread(keep_replay, database, key)
            assert f'href="/replay?history={key}">Had distriage been on' in (await client.get("/")).text
            for path in ("/", "/replays", "/tracker"):
                assert "secret" not in (await client.get(path)).text

    asyncio.run(go())


def test_the_list_points_at_a_replay_until_it_is_old(opened: OpenService, database: str) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            await client.get(link(service))
            key = filled(service)
            await asyncio.to_thread(keep_replay, database, key)
            store = PostgresHistory(service.threads)
            kept = store.kept_replay(key)
            assert kept is not None
            store.save_replay(key, NOW - timedelta(days=30), kept[1])
            assert "Had distriage been on" in (await client.get("/")).text, "nobody has seen a triage yet"
            PostgresStore(service.threads).save_triage(record(IssueRef(7, RepoRef(700, "octo/train"), 3)))
            assert "Had distriage been on" not in (await client.get("/")).text
            store.save_replay(key, NOW, kept[1])
            assert "Had distriage been on" in (await client.get("/")).text

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
