"""From the webhook to the end of the work, on a real PostgreSQL."""

from __future__ import annotations

import asyncio
import threading
import time

import httpx2

from bot.db.deliveries import Deliveries, StoredDelivery
from bot.jobs.retry import MAX_ATTEMPTS, TryLater
from bot.jobs.runner import Ended
from bot.jobs.worker import WorkerOptions
from bot.service import Service, Work, working
from bot.web.app import make_app
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


def test_a_poison_delivery_dies_with_its_error_and_blocks_nobody(opened: OpenService) -> None:
    def handle(delivery: StoredDelivery) -> Ended:
        if delivery.id == "poison":
            raise ValueError("bad ghp_" + "a" * 36)
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
