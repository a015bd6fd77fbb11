"""Exactly one comment for each issue, showing its newest text, whatever is killed and however GitHub fails.

The whole service as in production, web process, worker and triage process, each killed with -9 at random; a GitHub
that refuses, drops, answers late, and now and then does a write without saying so. `SOAK_SHARE=1` runs all of it:
600 deliveries of 200 issues and 40 kills; by default a tenth of that.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import httpx2
import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from tests.bot.fake_github import APP_ID, BOT, FakeGitHub, FakeIssue, Fault, FaultKind
from tests.bot.service.calls import headers
from tests.soak.bot_process import SECRET, start, until_ready

SHARE = float(os.environ.get("SOAK_SHARE", "0.1"))
ISSUES, KILLS, INSTALLATIONS = max(4, round(200 * SHARE)), max(3, round(40 * SHARE)), 20
SETTLE_SECONDS = 400
KILLED = ("web", "bot.serve.worker_process", "bot.runtime.triage_pool")

Fails = tuple[tuple[float, FaultKind, float], ...]
READS: Fails = ((0.05, "500", 0), (0.02, "retry_after", 1), (0.03, "drop_before", 0))
COMMENTS: Fails = (
    (0.07, "500", 0),
    (0.07, "502_after", 0),
    (0.05, "drop_after", 0),
    (0.02, "slow", 17),  # the bot gives up after 15 seconds, the comment is written all the same
    (0.05, "retry_after", 1),
)
EDITS: Fails = ((0.10, "500", 0), (0.05, "502_after", 0))
TOKENS: Fails = ((0.10, "500", 0),)


def spoil(fake: FakeGitHub, dice: random.Random) -> Counter[str]:
    hit: Counter[str] = Counter()

    def plan(method: str, path: str) -> Fault | None:
        by_verb = {"GET": READS, "POST": COMMENTS, "PATCH": EDITS}
        fails = TOKENS if "access_tokens" in path else by_verb.get(method, ())
        draw = dice.random()
        for share, kind, seconds in fails:
            draw -= share
            if draw < 0:
                hit[f"{method} {kind}"] += 1
                return Fault(kind, seconds=seconds)
        return None

    fake.faults = plan
    return hit


class People:
    """Open issues and edit them; GitHub tells of each twice now and then, and not in order."""

    def __init__(self, fake: FakeGitHub) -> None:
        self.fake = fake
        self.issues: list[tuple[int, FakeIssue]] = []
        for n in range(INSTALLATIONS):
            fake.installations[n + 1] = {"id": n + 1, "account": {"login": "acme", "id": 1, "type": "User"}}
            repo = fake.repo(f"acme/train{n}")
            repo.installation = n + 1
            repo.files[".github/distriage.yml"] = "mode: comment\n"

    def open(self, n: int) -> bytes:
        name = f"acme/train{n % INSTALLATIONS}"
        self.issues.append(
            (n, self.fake.open_issue(name, "Training hangs", f"Watchdog caught a timeout, issue {n} text 0"))
        )
        return self.told(n, "opened")

    def edit(self, n: int) -> bytes:
        self.issues[n][1].body = f"Watchdog caught a timeout, issue {n} text 1"
        return self.told(n, "edited", changes={"body": {"from": "x"}})

    def told(self, n: int, action: str, **more: object) -> bytes:
        where, who = f"acme/train{n % INSTALLATIONS}", {"id": 1 + n % INSTALLATIONS}
        payload = self.fake.payload(where, self.issues[n][1], action, installation=who, **more)
        return json.dumps(payload).encode()


class Bot:
    """The service's processes."""

    def __init__(self, database: str, port: int, settings: dict[str, str]) -> None:
        self._port = port
        self._start = lambda: start("whole", str(port), database=database, **settings)
        self.process: subprocess.Popen[bytes] = self._start()
        self.killed: Counter[str] = Counter()
        self.seen: set[psutil.Process] = set()

    def family(self) -> dict[str, psutil.Process]:
        """By kind, those that run."""
        found = {"web": psutil.Process(self.process.pid)}
        for child in found["web"].children(recursive=True):
            try:
                kind = next((k for k in KILLED[1:] if k in child.cmdline()), None)
            except psutil.Error:
                continue
            if kind is not None:
                found[kind] = child
        self.seen |= set(found.values())
        return found

    def kill(self, kind: str) -> bool:
        """Kill one of that kind, as soon as all are at work: a service that never starts shows nothing."""
        try:
            engine = httpx2.get(f"http://127.0.0.1:{self._port}/readyz", timeout=5).json()["engine"]
        except httpx2.TransportError:
            return False
        family = self.family()
        if engine == "failed":
            # A killed triage process is started again by the next triage only, and there may be none any more.
            kind = "web"
        elif engine != "ready" or len(family) < len(KILLED):
            return False
        family[kind].send_signal(signal.SIGKILL)
        self.killed[kind] += 1
        if kind == "web":
            self.process.wait()
            self.process = self._start()
        return True

    def end(self) -> int:
        self.family()
        self.process.terminate()
        return self.process.wait(60)


async def deliver(client: httpx2.AsyncClient, delivery: str, body: bytes) -> None:
    """Until it is taken, as the sweep has GitHub deliver again what was not."""
    call = headers(body, delivery=delivery, secret=SECRET)
    while True:
        try:
            if (await client.post("/webhooks/github", content=body, headers=call)).status_code == 202:
                return
        except httpx2.TransportError:
            pass
        await asyncio.sleep(0.5)


async def traffic(client: httpx2.AsyncClient, people: People, dice: random.Random, seconds: float) -> int:
    """Each issue opened, told of once more, and edited; returns how many deliveries there were."""
    steps = [("open", n) for n in range(ISSUES)]
    sent: list[tuple[str, bytes]] = []
    edited: list[int] = []
    while steps or len(edited) < ISSUES:
        if steps and (dice.random() < 0.5 or len(people.issues) == len(edited)):
            sent.append((f"open-{steps[0][1]}", people.open(steps.pop(0)[1])))
            await deliver(client, *sent[-1])
            continue
        n = dice.choice([n for n, _ in people.issues if n not in edited])
        edited.append(n)
        # The duplicate of what was told before comes around the edit.
        both = [(f"edit-{n}", people.edit(n)), next(one for one in sent if one[0] == f"open-{n}")]
        dice.shuffle(both)
        for one in both:
            await deliver(client, *one)
        await asyncio.sleep(seconds / ISSUES)
    return 3 * ISSUES


def states(database: str) -> dict[str, int]:
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT state, count(*) FROM deliveries WHERE id NOT LIKE 'sweep-%' GROUP BY state"
        ).fetchall()
    return {str(state): int(str(count)) for state, count in rows}


def ends(database: str) -> list[tuple[object, ...]]:
    """How deliveries ended, for whoever looks into a failure."""
    with psycopg.connect(database) as connection:
        return connection.execute(
            "SELECT state, outcome, reason, split_part(coalesce(error, ''), E'\\n', 1), count(*) FROM deliveries"
            " GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC"
        ).fetchall()


@pytest.mark.timeout(1500 if SHARE < 1 else 5400)
def test_one_comment_each_showing_the_newest_text(
    database: str, fake: FakeGitHub, key_file: Path, port: int
) -> None:
    dice = random.Random(11)
    people, hit = People(fake), spoil(fake, dice)
    settings = {
        "github_app_id": str(APP_ID),
        "github_private_key_file": str(key_file),
        "github_api_url": fake.url,  # type: ignore[attr-defined]
        "edit_delay": "0.3",
    }
    bot = Bot(database, port, settings)
    sent, settled = 0, 0.0

    async def kill_at_random(until: asyncio.Task[int]) -> None:
        kinds = [KILLED[n % 3] for n in range(KILLS)]
        dice.shuffle(kinds)
        while kinds:
            await asyncio.sleep(dice.uniform(1.0, 4.0))
            if await asyncio.to_thread(bot.kill, kinds[-1]):
                kinds.pop()
        await until

    async def go() -> None:
        nonlocal sent, settled
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:
            await until_ready(client, 60)
            sending = asyncio.create_task(traffic(client, people, dice, seconds=2.0 * KILLS))
            await kill_at_random(sending)
            sent, began = sending.result(), time.monotonic()
            while (await asyncio.to_thread(states, database)).get("queued"):
                assert time.monotonic() - began < SETTLE_SECONDS, states(database)
                await asyncio.sleep(0.5)
            settled = time.monotonic() - began
            # The last kill may have been the web process's: one that still starts ends without a word.
            await until_ready(client, 60)

    try:
        asyncio.run(go())
    finally:
        code = bot.end()
    ours = {n: [c for c in issue.comments if c.user["login"] == BOT] for n, issue in people.issues}
    assert Counter(map(len, ours.values())) == {1: ISSUES}, ends(database)
    assert [n for n, issue in people.issues if issue.body not in ours[n][0].body] == []
    assert set(states(database)) <= {"done", "superseded"}, states(database)
    assert sum(states(database).values()) == 2 * ISSUES, "each delivery is kept once"
    assert sum(bot.killed.values()) == KILLS
    assert code == 0
    assert [p for p in bot.seen if p.is_running() and p.status() != psutil.STATUS_ZOMBIE] == []
    print(
        f"durability: {sent} deliveries, {ISSUES} issues, kills {dict(bot.killed)}, faults {dict(hit)}, {settled:.0f} s"
    )
