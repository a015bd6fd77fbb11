"""200 deliveries a second over a socket: 99 % answered within 50 ms, none lost.

The bar is the machine's when it is quiet. Where programs of others take part of it, a bare server that only says
202 is measured in the same run, and what it needs is added: as often as there are processes in a delivery's way.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2
import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from tests.bot.service.calls import headers, issue_payload
from tests.soak.bot_process import SECRET, start, until_ready
from tests.soak.quick_client import post_at_rate

RATE, SECONDS, WARM_UP = 200, 8, 2
pytestmark = pytest.mark.alone
BAR = 50.0
QUIET = 0.10
"""Share of the machine that others may take without being noticed."""
BUSY = 0.33
"""Share above which no bar means anything: then the median is held, and the test says that it was skipped."""
TRIES = 3
IN_THE_WAY = 4
"""Sender, web process, PostgreSQL, web process again: each may have to wait for a core."""


@dataclass(frozen=True)
class Run:
    """Milliseconds of the answers of one run, and the share of the machine that others took meanwhile."""

    p50: float
    p99: float
    worst: float
    others: float


def calls() -> list[tuple[bytes, dict[str, str]]]:
    bodies = [json.dumps(issue_payload(n, body="x" * 4000)).encode() for n in range(RATE * SECONDS)]
    return [(body, headers(body, delivery=f"a{n}", secret=SECRET)) for n, body in enumerate(bodies)]


async def send(port: int) -> list[float]:
    """Post at the rate, however long the answers take; the sorted milliseconds after the warm-up."""
    statuses, times = await post_at_rate(port, "/webhooks/github", calls(), RATE)
    assert set(statuses) == {202}
    return sorted(t * 1e3 for t in times[RATE * WARM_UP :])


def ours() -> float:
    """Seconds of CPU of this test, its processes, and PostgreSQL's."""
    family = {p.pid for p in psutil.Process().children(recursive=True)} | {psutil.Process().pid}
    used = 0.0
    for process in psutil.process_iter(["pid", "name", "cpu_times"]):
        if process.info["pid"] in family or process.info["name"] == "postgres":
            used += sum(process.info["cpu_times"][:2])
    return used


def busy() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait - times.guest - times.guest_nice)


def measured(port: int) -> Run:
    begin, before_ours, before_all = time.monotonic(), ours(), busy()
    times = asyncio.run(send(port))
    machine = (time.monotonic() - begin) * psutil.cpu_count()
    others = max(0.0, busy() - before_all - (ours() - before_ours)) / machine
    return Run(times[len(times) // 2], times[int(len(times) * 0.99)], times[-1], others)


@contextmanager
def bare_server(port: int) -> Iterator[None]:
    server = start("bare", str(port), database="")
    try:
        deadline = time.monotonic() + 20
        while True:
            try:
                httpx2.post(f"http://127.0.0.1:{port}/", content=b"x")
                break
            except httpx2.TransportError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        yield
    finally:
        server.terminate()
        server.wait(30)


async def ready(port: int) -> None:
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        await until_ready(client)
        deadline = time.monotonic() + 30
        while (await client.get("/readyz")).json()["engine"] not in {"ready", "elsewhere"}:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.2)


@pytest.mark.parametrize("kind", ["web", "serve"])
def test_200_deliveries_a_second_are_answered_in_time_and_none_is_lost(
    database: str, port: int, kind: str
) -> None:
    """By the web process alone (`--web-only`), and with a worker beside that triages all the while."""
    runs = []
    for _ in range(TRIES):
        server = start(kind, str(port), database=database)
        try:
            asyncio.run(ready(port))
            runs.append(measured(port))
        finally:
            server.terminate()
            server.wait(40)
        with psycopg.connect(database) as connection:
            row = connection.execute("SELECT count(*) FROM deliveries").fetchone()
            connection.execute("TRUNCATE deliveries, procrastinate_jobs CASCADE")
        assert row == (RATE * SECONDS,)
        if runs[-1].p99 <= BAR:
            break
    best = min(runs, key=lambda run: run.p99)
    bar = BAR
    if best.others > QUIET:
        with bare_server(port):
            bar += IN_THE_WAY * measured(port).p99
    print(
        f"accept by {kind}: p50 {best.p50:.1f} ms, p99 {best.p99:.1f} ms, worst {best.worst:.1f} ms; "
        f"others took {best.others:.0%} of the machine, so the bar is {bar:.0f} ms"
    )
    if best.others > BUSY and best.p99 > bar:
        assert best.p50 <= BAR
        pytest.skip(f"others took {best.others:.0%} of the machine: p99 was {best.p99:.0f} ms")
    assert best.p99 <= bar
