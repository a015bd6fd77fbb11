"""200 deliveries a second over a socket: 99 % answered within 50 ms by the web process alone, none lost."""

from __future__ import annotations

import asyncio
import json

import httpx2
import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from tests.bot.service.calls import headers, issue_payload
from tests.soak.bot_process import SECRET, start, until_ready
from tests.soak.quick_client import post_at_rate

RATE, SECONDS, WARM_UP = 200, 10, 2


async def send(port: int) -> list[float]:
    """Post at the rate, however long the answers take; the sorted times after the warm-up."""
    calls = []
    for n in range(RATE * SECONDS):
        body = json.dumps(issue_payload(n, body="x" * 4000)).encode()
        calls.append((body, headers(body, delivery=f"a{n}", secret=SECRET)))
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        await until_ready(client)
    statuses, times = await post_at_rate(port, "/webhooks/github", calls, RATE)
    assert set(statuses) == {202}
    return sorted(times[RATE * WARM_UP :])


@pytest.mark.parametrize("kind", ["web", "serve"])
def test_200_deliveries_a_second_are_answered_in_time_and_none_is_lost(
    database: str, port: int, kind: str
) -> None:
    """Alone (`--web-only`), and with a worker in the same process that triages all the while."""
    server = start(kind, str(port), database=database)
    try:
        times = asyncio.run(send(port))
        used = psutil.Process(server.pid).cpu_times()
    finally:
        server.terminate()
        server.wait(30)
    p50, p99 = (times[int(len(times) * q)] * 1e3 for q in (0.5, 0.99))
    cpu = (used.user + used.system) / (RATE * SECONDS) * 1e3
    print(
        f"accept by {kind}: p50 {p50:.1f} ms, p99 {p99:.1f} ms, worst {times[-1] * 1e3:.1f} ms,"
        f" {cpu:.1f} ms of CPU each (start included)"
    )
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT count(*) FROM deliveries").fetchone()
    assert row == (RATE * SECONDS,)
    # On a machine that others share only the median and the web process alone can be held to the bar.
    assert (p99 if kind == "web" else p50) <= 50
