"""From the webhook to the end of the work, on a real PostgreSQL."""

from __future__ import annotations

import asyncio
import threading
import time
from itertools import pairwise

import httpx2
import pytest

from bot.db.deliveries import Deliveries, StoredDelivery
from bot.github.routes import new_delivery
from bot.jobs import queue as job_queue
from bot.jobs.queue import WorkerOptions
from bot.jobs.runner import MAX_ATTEMPTS, Ended, TryLater
from bot.ports import CoreDown
from bot.runtime.resources import Service, Work, working
from bot.serve.web_app import make_app
from tests.bot.service.calls import ended, issue_payload, post
from tests.bot.service.conftest import OpenService

FAST = WorkerOptions(concurrency=4, heartbeat=0.2, stalled=1.0, poll=0.1, grace=2.0)


def client_of(service: Service) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=make_app(service))
    return httpx2.AsyncClient(transport=transport, base_url="http://bot")


def test_a_delivery_is_stored_queued_worked_and_done(opened: OpenService) -> None:
    seen: list[StoredDelivery] = []

    def handle(delivery: StoredDelivery) -> Ended:
        seen.append(delivery)
        return Ended("written", "new")

    async def go() -> None:
        async with opened() as service, client_of(service) as client:
            answer = await post(client, issue_payload(), delivery="d1")
            assert (answer.status_code, answer.json()) == (202, {"status": "queued"})
            async with working(service, Work({"github": handle}), FAST):
                end = await ended(service, "d1")
            assert (end.state, end.outcome, end.reason, end.attempts) == ("done", "written", "new", 1)
            assert [(d.event, d.action, d.lock) for d in seen] == [("issues", "opened", "github:11:1")]

    asyncio.run(go())


def test_redelivery_of_a_waiting_one_is_accepted_and_of_a_finished_one_does_nothing(
    opened: OpenService,
) -> None:
    runs: list[str] = []

    def handle(delivery: StoredDelivery) -> Ended:
        runs.append(delivery.id)
        return Ended("written", "new")

    async def go() -> None:
        async with opened() as service, client_of(service) as client:
            words = [(await post(client, issue_payload(), delivery="d1")).json()["status"] for _ in range(2)]
            async with working(service, Work({"github": handle}), FAST):
                await ended(service, "d1")
                words.append((await post(client, issue_payload(), delivery="d1")).json()["status"])
                await asyncio.sleep(0.3)
            assert words == ["queued", "waiting", "finished"]
            assert runs == ["d1"]

    asyncio.run(go())


def test_a_burst_of_edits_is_one_run_of_the_newest(opened: OpenService) -> None:
    runs: list[str] = []

    def handle(delivery: StoredDelivery) -> Ended:
        runs.append(delivery.id)
        return Ended("written", "new")

    async def go() -> None:
        async with opened() as service, client_of(service) as client:
            await post(client, issue_payload(), delivery="d0")
            for n in range(1, 6):
                await post(client, issue_payload(action="edited"), delivery=f"d{n}")
            async with working(service, Work({"github": handle}), FAST):
                states = [(await ended(service, f"d{n}")).state for n in range(6)]
            assert states == ["superseded"] * 5 + ["done"]
            assert runs == ["d5"]

    asyncio.run(go())


def test_jobs_of_one_issue_never_run_side_by_side(opened: OpenService) -> None:
    running: set[str] = set()
    overlaps: list[str] = []
    most = 0
    guard = threading.Lock()

    def handle(delivery: StoredDelivery) -> Ended:
        nonlocal most
        with guard:
            if delivery.lock in running:
                overlaps.append(delivery.id)
            running.add(delivery.lock)
            most = max(most, len(running))
        time.sleep(0.03)
        with guard:
            running.discard(delivery.lock)
        return Ended("command", "done")

    def comment(issue: int, n: int) -> dict[str, object]:
        return {
            **issue_payload(issue, "created"),
            "comment": {"id": n, "body": "/triage", "user": {"login": "ada"}},
        }

    async def go() -> None:
        async with opened() as service, client_of(service) as client:
            for n in range(24):
                await post(client, comment(n % 3, n), delivery=f"d{n}", event="issue_comment")
            async with working(service, Work({"github": handle}), FAST):
                for n in range(24):
                    assert (await ended(service, f"d{n}")).state == "done"
        assert overlaps == []
        assert most > 1, "different issues should run side by side"

    asyncio.run(go())


def test_work_put_off_does_not_count_as_an_attempt(opened: OpenService) -> None:
    calls = 0

    def handle(delivery: StoredDelivery) -> Ended:
        nonlocal calls
        calls += 1
        if calls <= MAX_ATTEMPTS + 2:
            raise TryLater("rate limit", after=0.01)
        return Ended("written", "new")

    async def go() -> None:
        async with opened() as service, client_of(service) as client:
            await post(client, issue_payload(), delivery="d1")
            async with working(service, Work({"github": handle}), FAST):
                end = await ended(service, "d1")
            assert (end.state, end.attempts, calls) == ("done", 1, MAX_ATTEMPTS + 3)

    asyncio.run(go())


def test_waits_for_an_outage_grow_and_are_counted(opened: OpenService) -> None:
    asked: list[int] = []

    def grow(waits: int) -> float:
        asked.append(waits)
        return 0.01

    def handle(delivery: StoredDelivery) -> Ended:
        if delivery.waits < 3:
            raise TryLater("GitHub", after=0.0, growing=True)
        return Ended("written", "new")

    async def go() -> None:
        async with opened() as service, client_of(service) as client:
            await post(client, issue_payload(), delivery="d1")
            async with working(service, Work({"github": handle}, wait=grow), FAST):
                end = await ended(service, "d1")
            assert (end.state, end.attempts, end.waits, asked) == ("done", 1, 3, [1, 2, 3])

    asyncio.run(go())


def test_a_core_that_does_not_load_costs_no_delivery(opened: OpenService) -> None:
    def handle(delivery: StoredDelivery) -> Ended:
        if delivery.waits <= MAX_ATTEMPTS:
            raise CoreDown("the triage process did not load")
        return Ended("written", "new")

    async def go() -> None:
        async with opened() as service, client_of(service) as client:
            await post(client, issue_payload(), delivery="d1")
            async with working(service, Work({"github": handle}, wait=lambda waits: 0.01), FAST):
                end = await ended(service, "d1", seconds=40)
            assert (end.state, end.attempts, end.waits) == ("done", 1, MAX_ATTEMPTS + 1)

    asyncio.run(go())


def a_command(issue: int = 1, n: int = 1) -> dict[str, object]:
    comment = {"id": n, "body": "/triage", "user": {"login": "ada"}}
    return {**issue_payload(issue, "created"), "comment": comment}


@pytest.mark.parametrize("why", ["failed", "put off"])
def test_a_command_does_not_wait_behind_a_delivery_that_waits_to_run_again(
    opened: OpenService, why: str
) -> None:
    def handle(delivery: StoredDelivery) -> Ended:
        if delivery.event == "issue_comment":
            return Ended("command", "off")
        if why == "failed":
            raise ValueError("poison")
        raise TryLater("rate limit", after=600)

    async def go() -> None:
        async with opened() as service, client_of(service) as client:
            work = Work({"github": handle}, wait=lambda attempts: 600)
            async with working(service, work, FAST):
                await post(client, issue_payload(), delivery="poison")
                while not (found := Deliveries(service.threads).show("poison")) or not (
                    found.waits or found.error
                ):
                    await asyncio.sleep(0.05)
                await post(client, a_command(), delivery="off", event="issue_comment")
                assert (await ended(service, "off", seconds=8)).state == "done"
            left = Deliveries(service.threads).show("poison")
            assert left is not None
            assert left.state == "queued"

    asyncio.run(go())


@pytest.mark.long
def test_a_job_that_was_put_back_and_a_new_one_of_its_issue_do_not_run_side_by_side(
    opened: OpenService,
) -> None:
    running: set[str] = set()
    overlaps: list[str] = []
    done: list[str] = []

    def handle(delivery: StoredDelivery) -> Ended:
        if delivery.attempts == 1 and not delivery.waits and delivery.event == "issues":
            raise TryLater("first", after=0.05)
        if delivery.lock in running:
            overlaps.append(delivery.id)
        running.add(delivery.lock)
        time.sleep(0.1)
        running.discard(delivery.lock)
        done.append(delivery.id)
        return Ended("command", "done")

    async def go() -> None:
        async with opened() as service, client_of(service) as client:
            labeled = {**issue_payload(), "action": "labeled", "label": {"name": "x"}}
            async with working(service, Work({"github": handle}), FAST):
                for n in range(6):
                    await post(client, labeled, delivery=f"d{n}")
                    await post(client, a_command(n=n), delivery=f"c{n}", event="issue_comment")
                for n in range(6):
                    assert (await ended(service, f"d{n}", seconds=40)).state == "done"
                    assert (await ended(service, f"c{n}", seconds=40)).state == "done"
        assert overlaps == []
        assert [one for one in done if one.startswith("c")] == [f"c{n}" for n in range(6)]

    asyncio.run(go())


def test_a_swept_issue_does_not_stand_for_an_edit_that_waits(opened: OpenService) -> None:
    runs: list[str] = []

    def handle(delivery: StoredDelivery) -> Ended:
        runs.append(delivery.id)
        return Ended("written", "new")

    async def go() -> None:
        async with opened() as service, client_of(service) as client:
            await post(client, issue_payload(action="edited"), delivery="edit")
            swept = new_delivery("sweep", "issues", issue_payload(action="swept"), keep_text=False)
            assert swept is not None
            await service.accept(swept)
            async with working(service, Work({"github": handle}), FAST):
                states = [(await ended(service, one)).state for one in ("edit", "sweep")]
            assert (states, runs) == (["done", "done"], ["edit", "sweep"])

    asyncio.run(go())


def test_a_poison_delivery_dies_with_its_error_and_blocks_nobody(opened: OpenService) -> None:
    def handle(delivery: StoredDelivery) -> Ended:
        if delivery.id == "poison":
            raise ValueError("bad ghp_" + "aB3dE5fG7hJ9" * 3)
        return Ended("written", "new")

    async def go() -> None:
        async with opened() as service, client_of(service) as client:
            await post(
                client, {**issue_payload(), "action": "labeled", "label": {"name": "x"}}, delivery="poison"
            )
            await post(client, issue_payload(), delivery="good")
            async with working(service, Work({"github": handle}, wait=lambda attempts: 0.01), FAST):
                dead, good = await ended(service, "poison"), await ended(service, "good")
                assert (dead.state, dead.attempts, good.state) == ("dead", MAX_ATTEMPTS, "done")
                assert dead.error is not None
                assert "ValueError: bad [redacted:" in dead.error
                assert "ghp_" not in dead.error
            again = await post(client, issue_payload(), delivery="poison")
            assert again.json() == {"status": "queued"}
            assert [d.id for d in Deliveries(service.threads).newest("queued")] == ["poison"]

    asyncio.run(go())


def test_shutdown_hands_a_running_job_back(opened: OpenService) -> None:
    started = threading.Event()
    release = threading.Event()

    def slow(delivery: StoredDelivery) -> Ended:
        started.set()
        release.wait(10)
        return Ended("written", "late")

    async def go() -> None:
        async with opened() as service, client_of(service) as client:
            await post(client, issue_payload(), delivery="d1")
            hasty = WorkerOptions(concurrency=1, poll=0.1, grace=0.2)
            async with working(service, Work({"github": slow}), hasty):
                await asyncio.to_thread(started.wait, 10)
            with service.threads.connection() as connection:
                states = connection.execute(
                    "SELECT status::text FROM procrastinate_jobs WHERE task_name = 'delivery'"
                ).fetchall()
            assert states == [("todo",)]
            release.set()
            async with working(service, Work({"github": lambda d: Ended("written", "second")}), FAST):
                assert (await ended(service, "d1")).state == "done"

    asyncio.run(go())


def test_a_chore_that_takes_long_is_not_begun_a_second_time(
    opened: OpenService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_queue, "_LOST_AFTER", 0.5)
    seen: list[str] = []

    async def sweep() -> None:
        seen.append("begun")
        await asyncio.sleep(2)
        seen.append("ended")

    async def go() -> None:
        async with opened() as service:
            await service.queue.configure_task("sweep").defer_async(timestamp=0)
            async with working(service, Work({}, {"sweep": sweep}), FAST):
                await asyncio.sleep(4)

    asyncio.run(go())
    # Its next turn may come meanwhile, every ten minutes, but not before this one is through.
    assert seen[:2] == ["begun", "ended"]
    assert all(one != other for one, other in pairwise(seen))


def test_a_command_does_not_wait_behind_a_comment_that_waits_for_more(opened: OpenService) -> None:
    seen: list[str] = []

    def handle(delivery: StoredDelivery) -> Ended:
        seen.append(delivery.id)
        return Ended("command", "done")

    def comment(n: int, body: str) -> dict[str, object]:
        return {**issue_payload(1, "created"), "comment": {"id": n, "body": body, "user": {"login": "ada"}}}

    async def go() -> None:
        async with opened(comment_delay=600.0) as service, client_of(service) as client:
            await post(client, comment(1, "We use torch 2.3.1."), delivery="waits", event="issue_comment")
            await post(client, comment(2, "/triage off"), delivery="command", event="issue_comment")
            async with working(service, Work({"github": handle}), FAST):
                assert (await ended(service, "command")).state == "done"
            assert seen == ["command"]
            waiting = Deliveries(service.threads).show("waits")
            assert waiting is not None
            assert waiting.state == "queued"

    asyncio.run(go())
