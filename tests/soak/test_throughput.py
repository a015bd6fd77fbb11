"""Two workers on one PostgreSQL do twice the work of one, within 25 %: at least 1.5 times as much.

Each call to GitHub takes as long as a real one, so a worker spends its time waiting, as it does in production, and
what is measured is whether workers stand in each other's way in the database, not how many cores there are.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from bot.github.routes import new_delivery
from bot.runtime.resources import open_service
from bot.settings import Settings
from tests.bot.fake_github import APP_ID, BOT, FakeGitHub
from tests.soak.bot_process import start

pytestmark = pytest.mark.alone
ISSUES, INSTALLATIONS = 240, 12
LATENCY = 0.15
"""Seconds of each call; GitHub's own answers take 0.1 to 0.3."""
TOLERANCE = 0.25


def fill(database: str, fake: FakeGitHub) -> None:
    """Open the issues and queue a delivery for each."""
    for n in range(INSTALLATIONS):
        fake.installations[n + 1] = {"id": n + 1, "account": {"login": "acme", "id": 1, "type": "User"}}
        fake.repo(f"acme/train{n}").files[".github/distriage.yml"] = "mode: comment\n"

    async def go() -> None:
        async with open_service(Settings(), database) as service:
            for number in range(ISSUES):
                name, installation = f"acme/train{number % INSTALLATIONS}", 1 + number % INSTALLATIONS
                issue = fake.open_issue(name, "Training hangs", f"Watchdog timeout {number}")
                payload = fake.payload(name, issue, "opened", installation={"id": installation})
                new = new_delivery(f"d{number}-{datetime.now(UTC).timestamp()}", "issues", payload, False)
                assert new is not None
                await service.accept(new)

    asyncio.run(go())


def rate(database: str, fake: FakeGitHub, key_file: Path, workers: int) -> float:
    """Deliveries a second between a tenth and nine tenths of the work."""
    fake.reset()
    fake.latency = LATENCY
    fill(database, fake)
    app = {
        "github_app_id": str(APP_ID),
        "github_private_key_file": str(key_file),
        "github_api_url": fake.url,  # type: ignore[attr-defined]
    }
    running = [start("worker", database=database, **app) for _ in range(workers)]
    low, high = ISSUES // 10, ISSUES - ISSUES // 10
    reached: dict[int, float] = {}
    try:
        with psycopg.connect(database, autocommit=True) as connection:
            base = ended(connection)
            deadline = time.monotonic() + 90
            while high not in reached:
                now_ended = ended(connection) - base
                for mark in (low, high):
                    if now_ended >= mark:
                        reached.setdefault(mark, time.monotonic())
                assert time.monotonic() < deadline, f"{now_ended} of {ISSUES}"
                time.sleep(0.05)
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(30)
    return (high - low) / (reached[high] - reached[low])


def ended(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT count(*) FROM deliveries WHERE state = 'done'").fetchone()
    return int(row[0]) if row else 0


def test_two_workers_double_the_throughput(server_url: str, fake: FakeGitHub, key_file: Path) -> None:
    from tests.bot.service.databases import fresh_database

    with fresh_database(server_url) as first, fresh_database(server_url) as second:
        one = rate(first, fake, key_file, 1)
        two = rate(second, fake, key_file, 2)
    print(f"throughput: {one:.1f}/s with one worker, {two:.1f}/s with two, factor {two / one:.2f}")
    comments = [c for r in fake.repos.values() for i in r.issues.values() for c in i.comments]
    assert all(c.user["login"] == BOT for c in comments)
    assert two / one >= 2 * (1 - TOLERANCE)
