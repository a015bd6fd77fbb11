"""200 deliveries a second over a socket: each answered within 50 ms (99 %), none lost."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import httpx2
import psycopg
import pytest

from tests.bot.fake_github import APP_ID, FakeGitHub
from tests.bot.service.calls import headers, issue_payload
from tests.soak.bot_process import SECRET, start, until_ready

RATE, SECONDS, WARM_UP = 200, 10, 2


async def send(port: int) -> list[float]:
    """Post at a fixed rate, however long the answers take; the times to answer after the warm-up."""
    times: list[float] = []

    async def one(client: httpx2.AsyncClient, n: int) -> None:
        body = json.dumps(issue_payload(n, body="x" * 4000)).encode()
        begin = time.perf_counter()
        answer = await client.post(
            "/webhooks/github", content=body, headers=headers(body, delivery=f"a{n}", secret=SECRET)
        )
        assert answer.status_code == 202
        if n >= RATE * WARM_UP:
            times.append(time.perf_counter() - begin)

    limits = httpx2.Limits(max_connections=40)
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20, limits=limits) as client:
        await until_ready(client)
        begin = time.perf_counter()
        tasks = []
        for n in range(RATE * SECONDS):
            pause = begin + n / RATE - time.perf_counter()
            if pause > 0:
                await asyncio.sleep(pause)
            tasks.append(asyncio.create_task(one(client, n)))
        await asyncio.gather(*tasks)
    return sorted(times)


@pytest.mark.parametrize("beside", ["nobody", "a worker"])
def test_200_deliveries_a_second_are_answered_in_time_and_none_is_lost(
    database: str, fake: FakeGitHub, key_file: Path, port: int, beside: str
) -> None:
    app = {
        "github_app_id": str(APP_ID),
        "github_private_key_file": str(key_file),
        "github_api_url": fake.url,  # type: ignore[attr-defined]
    }
    running = [start("web", str(port), database=database, **app)]
    if beside == "a worker":
        running.append(start("worker", database=database, **app))
    try:
        times = asyncio.run(send(port))
    finally:
        for process in running:
            process.terminate()
            process.wait(30)
    p50, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
    print(
        f"accept beside {beside}: p50 {p50 * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms, worst {times[-1] * 1e3:.1f} ms"
    )
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT count(*) FROM deliveries").fetchone()
    assert row == (RATE * SECONDS,)
    assert p99 <= 0.050
