"""1,000 deliveries of 300 issues, a worker killed 20 times, a GitHub that fails in every tenth call."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import psycopg

from tests.bot.fake_github import APP_ID, BOT, FakeGitHub, FakeIssue, Fault, FaultKind
from tests.bot.service.calls import headers
from tests.soak.bot_process import SECRET, start, until_ready

ISSUES, DELIVERIES, KILLS, INSTALLATIONS = 300, 1000, 20, 30
CONFIG = "mode: comment\n"


def spoil(fake: FakeGitHub, share: float, dice: random.Random) -> Counter[str]:
    kinds: list[FaultKind] = ["500", "502", "retry_after", "drop_after"]
    hit: Counter[str] = Counter()

    def plan(method: str, path: str) -> Fault | None:
        if "access_tokens" in path or dice.random() >= share:
            return None
        kind = dice.choice(kinds)
        hit[kind] += 1
        return Fault(kind, seconds=1.0)

    fake.faults = plan
    return hit


def repo_of(number: int) -> tuple[str, int]:
    """Issues are spread over installations, whose budget of 80 writes a minute is not what is tested here."""
    return f"acme/train{number % INSTALLATIONS}", 1 + number % INSTALLATIONS


class Traffic:
    """People who open and edit issues, and a GitHub that repeats and reorders what it tells of it."""

    def __init__(self, fake: FakeGitHub, dice: random.Random) -> None:
        self.fake, self.dice = fake, dice
        self.issues: list[tuple[str, int, FakeIssue]] = []
        self.calls: list[tuple[str, bytes]] = []
        for n in range(INSTALLATIONS):
            fake.installations[n + 1] = {"id": n + 1, "account": {"login": "acme", "id": 1, "type": "User"}}
            fake.repo(f"acme/train{n}").files[".github/distriage.yml"] = CONFIG

    def open(self, number: int) -> None:
        name, installation = repo_of(number)
        issue = self.fake.open_issue(name, "Training hangs", f"Watchdog timeout, issue {number} text 0")
        self.issues.append((name, installation, issue))
        self._tell(len(self.issues) - 1, "opened")

    def edit(self, index: int, revision: int) -> None:
        issue = self.issues[index][2]
        issue.body = f"Watchdog timeout, issue {index} text {revision}"
        self._tell(index, "edited", changes={"body": {"from": "x"}})

    def repeat(self) -> None:
        self.calls.append(self.dice.choice(self.calls))

    def _tell(self, index: int, action: str, **more: Any) -> None:
        name, installation, issue = self.issues[index]
        payload = self.fake.payload(name, issue, action, installation={"id": installation}, **more)
        self.calls.append((f"d{len(self.calls)}", json.dumps(payload).encode()))


async def post_all(client: httpx2.AsyncClient, traffic: Traffic, seconds: float) -> None:
    """Make the traffic and post it, over `seconds`; neighbours in a window of 8 change places."""
    dice = traffic.dice
    posted = 0
    while posted < DELIVERIES:
        before = len(traffic.calls)
        while len(traffic.calls) < min(before + 8, DELIVERIES):
            draw = dice.random()
            if len(traffic.issues) < ISSUES and draw < 0.35:
                traffic.open(len(traffic.issues))
            elif traffic.issues and draw < 0.85:
                traffic.edit(dice.randrange(len(traffic.issues)), len(traffic.calls))
            elif traffic.calls:
                traffic.repeat()
        window = traffic.calls[before:]
        dice.shuffle(window)
        for delivery, body in window:
            answer = await client.post(
                "/webhooks/github", content=body, headers=headers(body, delivery=delivery, secret=SECRET)
            )
            assert answer.status_code == 202, answer.text
        posted += len(window)
        await asyncio.sleep(seconds * len(window) / DELIVERIES)


def left(database: str) -> int:
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT count(*) FROM deliveries WHERE state = 'queued'").fetchone()
    return int(row[0]) if row else 0


def test_every_issue_ends_with_one_comment_that_fits_its_last_text(
    database: str, fake: FakeGitHub, key_file: Path, port: int
) -> None:
    dice = random.Random(4)
    traffic = Traffic(fake, dice)
    hit = spoil(fake, 0.10, dice)
    app = {
        "github_app_id": str(APP_ID),
        "github_private_key_file": str(key_file),
        "github_api_url": fake.url,  # type: ignore[attr-defined]
        "edit_delay": "0.3",
    }
    web = start("web", str(port), database=database, **app)
    worker = start("worker", database=database, **app)
    kills = 0

    async def kill_at_random(until_posted: asyncio.Task[None]) -> None:
        nonlocal worker, kills
        while kills < KILLS:
            await asyncio.sleep(dice.uniform(1.5, 3.0))
            worker.send_signal(signal.SIGKILL)
            worker.wait()
            kills += 1
            worker = start("worker", database=database, **app)
        await until_posted

    async def go() -> None:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:
            await until_ready(client)
            posting = asyncio.create_task(post_all(client, traffic, seconds=35))
            await kill_at_random(posting)
            deadline = time.monotonic() + 120
            while await asyncio.to_thread(left, database):
                assert time.monotonic() < deadline, f"{left(database)} deliveries are left"
                await asyncio.sleep(0.5)

    try:
        asyncio.run(go())
    finally:
        for process in (worker, web):
            process.terminate()
            process.wait(30)
    ours = [[c for c in issue.comments if c.user["login"] == BOT] for _, _, issue in traffic.issues]
    assert len(ours) == ISSUES
    assert Counter(len(comments) for comments in ours) == {1: ISSUES}
    stale = [
        issue.body
        for (_, _, issue), (comment,) in zip(traffic.issues, ours, strict=True)
        if issue.body not in comment.body
    ]
    assert stale == []
    with psycopg.connect(database) as connection:
        states: dict[str, int] = dict(
            connection.execute("SELECT state, count(*) FROM deliveries GROUP BY state").fetchall()
        )
    assert set(states) <= {"done", "superseded"}, states
    assert sum(states.values()) == len({delivery for delivery, _ in traffic.calls})
    assert kills == KILLS
    assert min(hit.values()) > 5
    print("chaos:", {"kills": kills, "states": states, "faults": dict(hit)})
