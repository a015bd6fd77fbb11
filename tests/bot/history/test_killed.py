"""kill -9 during a back-fill, at any moment: nothing lost, nothing twice, nothing written to GitHub."""

from __future__ import annotations

import multiprocessing
import random
import time
from multiprocessing.connection import Connection
from typing import Any

import pytest

from bot.db.connect import SyncPool, sync_pool
from bot.history.store import PostgresHistory
from tests.bot.fake_github import FakeGitHub, serve
from tests.bot.history.fake_past import NAME, FakePast, closed, labeled, node, pull, who
from tests.bot.history.filling_process import run

ISSUES = 5_000
KILLS = 20


def past() -> FakePast:
    fixed = {"state": "CLOSED", "stateReason": "COMPLETED", "closedAt": "2026-01-01T00:00:00Z"}
    return FakePast(
        [
            node(
                n,
                f"Hang of worker {n}",
                f"RuntimeError: rank {n} timed out in all_reduce",
                day=n / 10,
                events=[labeled("hang", who("ada")), closed(pull(10_000 + n))],
                **(fixed if n % 2 else {}),
            )
            for n in range(1, ISSUES + 1)
        ]
    )


def at_one_moment(pool: SyncPool) -> tuple[int, int, int]:
    """Issues read as the progress has it, issues kept, and the cursor.

    In one statement: the last COMMIT of a process that was killed may still be under way.
    """
    with pool.connection() as connection:
        row = connection.execute(
            "SELECT coalesce((progress ->> 'read')::int, 0), (SELECT count(*) FROM history_issues WHERE repo = key),"
            " coalesce(nullif(progress ->> 'cursor', '')::int, 0) FROM history_repos"
        ).fetchone()
    assert row is not None
    return row[0], row[1], row[2]


@pytest.mark.long
def test_twenty_kills_at_random_moments(database: str) -> None:
    state, seed = FakeGitHub(), random.randrange(10**6)
    dice = random.Random(seed)
    state.repo(NAME)
    state.graphql = past()
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.bot.history.filling_process"])
    cursors = []
    with serve(state) as api, sync_pool(database, 2) as pool:
        store = PostgresHistory(pool)

        def started() -> tuple[Any, Connection]:
            ours, theirs = processes.Pipe()
            process = processes.Process(target=run, args=(database, api, state.private_key, theirs))
            process.start()
            theirs.close()
            return process, ours

        for _ in range(KILLS):
            process, out = started()
            for _ in range(dice.randrange(1, 4)):
                assert out.recv() != "through", "the end is not reached"
            time.sleep(dice.random() * 0.15)
            process.kill()
            process.join()
            read, kept_issues, cursor = at_one_moment(pool)
            assert kept_issues == read, f"page and cursor are one, seed {seed}"
            cursors.append(cursor)
        process, out = started()
        while out.recv() != "through":
            pass
        process.join()
        with pool.connection() as connection:
            ids = connection.execute("SELECT id FROM history_issues").fetchall()
            labels = connection.execute("SELECT id, count(*) FROM history_labels GROUP BY id").fetchall()
        found = store.find(NAME)
        assert found is not None
        kept = store.issues(found.key, ["1", "2", str(ISSUES)])
    assert cursors == sorted(cursors) and len(set(cursors)) > 5, f"at different places, seed {seed}"
    assert sorted(int(str(row[0])) for row in ids) == list(range(1, ISSUES + 1))
    assert len(labels) == ISSUES and all(row[1] == 1 for row in labels)
    assert kept["1"].outcome.closed_by == "#10001" and kept["2"].outcome.is_open
    assert state.writes() == []
