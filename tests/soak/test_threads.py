"""The staged conversations through the running service, whose worker is killed meanwhile and whose GitHub fails.

All go on at the same time, one below each issue; deliveries are repeated. Each ends with one comment that fits.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from bot.db.connect import sync_pool
from bot.github.store.postgres import PostgresStore
from tests.bot.fake_github import APP_ID, FakeGitHub, random_faults
from tests.bot.service.calls import headers
from tests.bot.threads.stage import Stage, conversations
from tests.soak.bot_process import SECRET, start, until_ready

KILLS, INSTALLATIONS = 6, 8
NEEDS_THE_BOT = {"unlabel", "rewrites", "removes", "closes", "locks", "maria"}
"""Steps of people who look at what the bot did, and those that would keep it from reading what came just before."""


class Player:
    """Plays one conversation: hands its events to the service and waits until they are done where it has to."""

    def __init__(self, client: httpx2.AsyncClient, database: str, fake: FakeGitHub, number: int) -> None:
        self._client, self._database = client, database
        self._dice = random.Random(number)
        self._waiting: list[tuple[str, dict[str, Any]]] = []
        self._number, self._sent = number, 0
        installation = 1 + number % INSTALLATIONS
        self.stage = Stage(
            fake,
            conversations()[number],
            lambda event, payload: self._waiting.append((event, payload)),
            repo=f"acme/train{number}",
            installation=installation,
        )
        self.stage.repo.installation = installation

    async def play(self) -> None:
        self.stage.open()
        await self._done()
        for step in self.stage.conversation.steps:
            if NEEDS_THE_BOT & step.keys() or self._dice.random() < 0.5:
                await self._done()
            self.stage.step(step)
            await self._send()
        await self._done()

    async def _send(self) -> None:
        while self._waiting:
            event, payload = self._waiting.pop(0)
            body = json.dumps(payload).encode()
            name = f"d{self._number}-{self._sent}"
            self._sent += 1
            for _ in range(1 + (self._dice.random() < 0.3)):
                head = headers(body, event=event, delivery=name, secret=SECRET)
                answer = await self._client.post("/webhooks/github", content=body, headers=head)
                assert answer.status_code == 202, answer.text

    async def _done(self) -> None:
        await self._send()
        while await asyncio.to_thread(left, self._database, f"github:{self.stage.repo.id}:"):
            await asyncio.sleep(0.3)


def left(database: str, lock: str) -> int:
    """Deliveries that are not done."""
    with psycopg.connect(database) as connection:
        query = "SELECT count(*) FROM deliveries WHERE state = 'queued' AND starts_with(lock, %s)"
        row = connection.execute(query, (lock,)).fetchone()
    return int(row[0]) if row else 0


@pytest.mark.timeout(900)
def test_every_conversation_ends_with_one_comment_that_fits_the_whole_thread(
    database: str, fake: FakeGitHub, key_file: Path, port: int
) -> None:
    dice = random.Random(16)
    for n in range(INSTALLATIONS):
        fake.installations[n + 1] = {"id": n + 1, "account": {"login": "acme", "id": 1, "type": "User"}}
    fake.faults = random_faults(0.05, 16, ("500", "502", "retry_after", "drop_before", "drop_after"))
    app = {
        "github_app_id": str(APP_ID),
        "github_private_key_file": str(key_file),
        "github_api_url": fake.url,  # type: ignore[attr-defined]
        "edit_delay": "0.2",
        "comment_delay": "0.5",
    }
    web = start("web", str(port), database=database, **app)
    worker = start("engine-worker", database=database, **app)
    kills = 0
    players: list[Player] = []

    async def kill_at_random() -> None:
        nonlocal worker, kills
        while kills < KILLS:
            await asyncio.sleep(dice.uniform(6.0, 12.0))
            worker.send_signal(signal.SIGKILL)
            worker.wait()
            kills += 1
            worker = start("engine-worker", database=database, **app)

    async def go() -> None:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:
            await until_ready(client, 120)
            players.extend(Player(client, database, fake, n) for n in range(len(conversations())))
            await asyncio.gather(kill_at_random(), *(player.play() for player in players))

    try:
        asyncio.run(asyncio.wait_for(go(), 840))
    finally:
        for process in (worker, web):
            process.terminate()
            process.wait(30)
    with sync_pool(database, 2) as pool:
        store = PostgresStore(pool)
        found = {p.stage.conversation.name: p.stage.problems(store) for p in players}
        with pool.connection() as connection:
            rows = connection.execute("SELECT state, count(*) FROM deliveries GROUP BY state").fetchall()
    states = {str(row[0]): row[1] for row in rows}
    assert {name: problems for name, problems in found.items() if problems} == {}
    assert set(states) <= {"done", "superseded"}, states
    assert kills == KILLS
    print("threads:", {"conversations": len(players), "kills": kills, "states": states})
