"""The worker beside the web process: works, is asked, started again, ended, and ends alone."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import psutil  # type: ignore[import-untyped]
import pytest

from bot.jobs.queue import DELIVERY_TASK
from bot.runtime.resources import Service
from bot.runtime.worker_supervisor import NO_ANSWER, WorkerProcess
from bot.serve.web_app import make_app
from tests.bot.service.calls import ended, issue_payload, post
from tests.bot.service.conftest import OpenService

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("DISTRIAGE_LOG_LEVEL", "ERROR")


def worker_on(service: Service, work: str = "small_work") -> WorkerProcess:
    return WorkerProcess(f"tests.bot.service.small_works:{work}", service.url, pause=0.05)


def client_of(service: Service, worker: WorkerProcess) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=make_app(service, worker=worker))
    return httpx2.AsyncClient(transport=transport, base_url="http://bot")


async def answers(worker: WorkerProcess) -> None:
    deadline = time.monotonic() + 20
    while await worker.ask() == NO_ANSWER:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


def test_the_worker_works_and_the_web_process_tells_of_it(opened: OpenService) -> None:
    async def go() -> None:
        async with opened() as service:
            worker = worker_on(service)
            async with worker.running(), client_of(service, worker) as client:
                await post(client, issue_payload(1), delivery="d1")
                assert (await ended(service, "d1")).reason == f"by {worker.pid}"
                await answers(worker)
                assert (await client.get("/readyz")).json()["engine"] == "loading"
                lines = (await client.get("/metrics")).text.splitlines()
                assert 'distriage_delivery_seconds_count{outcome="written"} 1.0' in lines
                kinds = [line for line in lines if line.startswith("# TYPE")]
                assert len(kinds) == len(set(kinds))

    asyncio.run(go())


@pytest.mark.long
def test_a_worker_that_dies_is_started_again_and_its_delivery_is_done(opened: OpenService) -> None:
    async def go() -> None:
        async with opened() as service:
            worker = worker_on(service)
            async with worker.running(), client_of(service, worker) as client:
                await answers(worker)
                first = worker.pid
                await post(client, issue_payload(2), delivery="d2")
                end = await ended(service, "d2", seconds=40)
                assert (end.state, end.attempts) == ("done", 2)
                assert worker.pid != first
                assert not psutil.pid_exists(first)

    asyncio.run(go())


def test_at_the_end_the_running_job_is_finished_and_the_process_gone(opened: OpenService) -> None:
    async def go() -> None:
        async with opened() as service:
            worker = worker_on(service)
            async with client_of(service, worker) as client:
                async with worker.running():
                    await answers(worker)
                    await post(client, issue_payload(3), delivery="d3")
                    while not await running(service):
                        await asyncio.sleep(0.02)
                    pid = worker.pid
                assert (await ended(service, "d3", seconds=5)).reason == f"by {pid}"
                assert not psutil.pid_exists(pid)
                assert await worker.ask() == NO_ANSWER

    asyncio.run(go())


async def running(service: Service) -> bool:
    def look() -> bool:
        with service.threads.connection() as connection:
            # Not a chore, which may be due just then.
            found = connection.execute(
                "SELECT count(*) FROM procrastinate_jobs WHERE status = 'doing' AND task_name = %s",
                (DELIVERY_TASK,),
            ).fetchone()
        return found == (1,)

    return await asyncio.to_thread(look)


def test_a_worker_that_cannot_start_keeps_no_webhook_waiting(opened: OpenService) -> None:
    async def go() -> None:
        async with opened() as service:
            worker = worker_on(service, "no_work")
            async with worker.running(), client_of(service, worker) as client:
                await asyncio.sleep(1.0)
                answer = await post(client, issue_payload(1), delivery="d1")
                assert answer.json() == {"status": "queued"}
                ready = await client.get("/readyz")
                assert (ready.status_code, ready.json()["engine"]) == (200, "starting")

    asyncio.run(go())


def test_signals_to_the_group_leave_it_to_the_web_process_which_it_does_not_outlive(database: str) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-m", "bot.serve.worker_process", "tests.bot.service.small_works:small_work"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"DISTRIAGE_DATABASE_URL": database},
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    with worker:
        worker.stdin.write(b"1\n")
        worker.stdin.flush()
        assert b'"core": "loading"' in worker.stdout.readline()
        for number in (signal.SIGINT, signal.SIGTERM):
            worker.send_signal(number)
        time.sleep(0.5)
        assert worker.poll() is None
        worker.stdin.close()
        assert worker.wait(15) == 0
