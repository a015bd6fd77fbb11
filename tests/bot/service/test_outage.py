"""The database goes away under load and comes back; a worker's own metrics."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx2
import psycopg
import pytest

from bot.db.embedded import start_embedded
from tests.bot.service.calls import headers, issue_payload

ROOT = Path(__file__).parents[3]
SECRET = "outage"


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="dt-", dir="/tmp"))  # short: the socket lies in it
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def start(database: str, *arguments: str) -> subprocess.Popen[bytes]:
    """`bot` with the work of the tests, as a process."""
    settings = {
        "DISTRIAGE_DATABASE_URL": database,
        "DISTRIAGE_GITHUB_WEBHOOK_SECRET": SECRET,
        "DISTRIAGE_ADMIN_SECRET": "x",
        "DISTRIAGE_LOG_LEVEL": "ERROR",
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "tests.bot.service.quick_bot", *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=os.environ | settings)


def answered(port: int, path: str = "/readyz", seconds: float = 30) -> httpx2.Response:
    deadline = time.monotonic() + seconds
    while True:
        try:
            return httpx2.get(f"http://127.0.0.1:{port}{path}")
        except httpx2.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def states(url: str) -> dict[str, str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT id, state FROM deliveries").fetchall()
    return {str(id_): str(state) for id_, state in rows}


@pytest.mark.long
def test_deliveries_are_refused_while_the_database_is_away_and_none_that_was_taken_is_lost(
    folder: Path, port: int
) -> None:
    server = start_embedded(folder)
    bot = start(server.url, "serve", str(port))
    answers: dict[str, int] = {}

    async def deliver(client: httpx2.AsyncClient, number: int) -> None:
        body = json.dumps(issue_payload(number + 100)).encode()
        call = headers(body, delivery=f"d{number}", secret=SECRET)
        answers[f"d{number}"] = (
            await client.post("/webhooks/github", content=body, headers=call)
        ).status_code

    async def load(first: int, count: int) -> None:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            calls = []
            for number in range(first, first + count):
                calls.append(asyncio.create_task(deliver(client, number)))
                await asyncio.sleep(0.02)
            await asyncio.gather(*calls)

    async def go() -> None:
        under_way = asyncio.create_task(load(0, 150))
        await asyncio.sleep(1.0)
        postmaster = int((folder / "postgres" / "postmaster.pid").read_text().splitlines()[0])
        os.kill(postmaster, signal.SIGINT)  # "fast": cuts every connection
        await under_way
        away = await asyncio.to_thread(answered, port)
        assert (away.status_code, away.json()["problems"]) == (503, ["the database does not answer"])
        assert (await asyncio.to_thread(answered, port, "/healthz")).status_code == 200
        await asyncio.to_thread(start_embedded, folder)
        while (await asyncio.to_thread(answered, port)).status_code != 200:
            await asyncio.sleep(0.1)
        refused = [n for n in range(150) if answers[f"d{n}"] == 503]
        assert refused
        # GitHub redelivers what was refused each time the sweep asks for it; a connection that is still being
        # made anew may refuse once more.
        deadline = time.monotonic() + 60
        while refused and time.monotonic() < deadline:
            for number in refused:
                await load(number, 1)
            refused = [n for n in refused if answers[f"d{n}"] == 503]

    try:
        answered(port)
        asyncio.run(go())
        assert Counter(answers.values()) == {202: 150}
        deadline = time.monotonic() + 60
        while set(states(server.url).values()) != {"done"}:
            assert time.monotonic() < deadline, states(server.url)
            time.sleep(0.2)
        assert len(states(server.url)) == 150
    finally:
        bot.terminate()
        code = bot.wait(40)
        server.leave()
    assert code == 0


def test_a_worker_tells_its_own_metrics(database: str, port: int) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(
            "WITH d AS (INSERT INTO deliveries (id, source, event, action, lock, payload)"
            " VALUES ('d1', 'github', 'issues', 'opened', 'l', %s) RETURNING id)"
            " SELECT procrastinate_defer_jobs_v1(ARRAY[ROW('deliveries', 'delivery', 0, 'l', NULL,"
            " jsonb_build_object('delivery_id', id), NULL)::procrastinate_job_to_defer_v1]) FROM d",
            (json.dumps(issue_payload(1)),),
        )
    worker = start(database, "worker", str(port))
    try:
        deadline = time.monotonic() + 30
        while 'distriage_delivery_seconds_count{outcome="written"} 1.0' not in (
            page := answered(port, "/metrics").text
        ):
            assert time.monotonic() < deadline, page
            time.sleep(0.2)
        assert "distriage_webhooks" not in page
        assert "distriage_deliveries" not in page
    finally:
        worker.terminate()
        assert worker.wait(40) == 0
