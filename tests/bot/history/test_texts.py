"""Texts of a history: kept only where the operator wants it, redacted, and gone when that is taken back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bot.db.connect import sync_pool
from bot.db.deliveries import StoredDelivery
from bot.db.forget import forget
from bot.history.backfill import Export, fill
from bot.history.records import KeptIssue, PastIssue
from bot.history.replay.job import keep_replay
from bot.history.search import kept_issue, still_open
from bot.history.store import PostgresHistory
from bot.ports import CoreFailed
from bot.serve.compose import work_of
from knowledge.history.record import Post, body_to_keep
from knowledge.report import Report
from knowledge.triage import Triage
from tests.bot.fake_core import FakeCore
from tests.bot.history.memory_history import TinyRecorder
from tests.bot.history.test_history_store import NOW, kept
from tests.bot.service.calls import issue_payload
from tests.bot.service.conftest import opened
from tests.knowledge.history.tiny import AGAIN

__all__ = ["opened"]
SECRET = "ghp_" + "a1B2" * 9
NAME = "acme/train"


@pytest.fixture
def store(database: str) -> Iterator[PostgresHistory]:
    with sync_pool(database, 2) as pool:
        yield PostgresHistory(pool)


def dumped(database: str) -> str:
    """Everything that the database holds of histories."""
    with psycopg.connect(database) as connection:
        tables = ("history_repos", "history_issues", "history_texts", "history_replays")
        rows = [
            connection.execute(f"SELECT to_jsonb(t)::text FROM {t} AS t".encode()).fetchall() for t in tables
        ]
    return "\n".join(str(row[0]) for found in rows for row in found)


@pytest.mark.parametrize("keep_texts", [False, True])
def test_a_back_fill_keeps_redacted_texts_or_none(
    store: PostgresHistory, database: str, tmp_path: Path, keep_texts: bool, caplog: pytest.LogCaptureFixture
) -> None:
    body = f"{{{{init}}}} fails on the quokka node.\nexport TOKEN={SECRET}\n{AGAIN.body}"
    lines = [{"id": "KEY-7", "opened": "2024-05-01", "title": f"Hang {SECRET}", "body": body}]
    file = tmp_path / "x.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines * 2))
    repo = store.begin(NAME, "words", None, None)
    fill(store, repo, Export(file, NAME), TinyRecorder(), keep_texts=keep_texts)
    held = dumped(database)
    assert SECRET not in held and "quokka node" not in caplog.text
    assert ("fails on the quokka node" in held) is keep_texts
    texts = store.texts(repo.key, ["KEY-7"])
    assert set(texts) == ({"KEY-7"} if keep_texts else set())
    if keep_texts:
        assert texts["KEY-7"].body.startswith("`init` fails on the quokka node."), "Jira's markup as Markdown"
        forget(database, NAME, really=True)
        assert "quokka" not in dumped(database)


def test_what_was_filled_before_gets_no_text_until_it_is_read_anew(
    store: PostgresHistory, tmp_path: Path
) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(json.dumps({"id": "7", "title": AGAIN.title, "body": AGAIN.body}) + "\n")
    repo = store.begin(NAME, "words", None, None)
    fill(store, repo, Export(file, NAME), TinyRecorder())
    fill(store, repo, Export(file, NAME), TinyRecorder(), keep_texts=True)
    assert store.texts(repo.key, ["7"]) == {}


def test_a_long_body_is_cut_after_it_was_redacted() -> None:
    key = (
        "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7abc\n" * 60 + "-----END RSA PRIVATE KEY-----"
    )
    # The cut would part the key, and what is left of it would not look like one.
    for before in (39_500, 39_990):
        found = body_to_keep(Post("1", "t", "x y " * (before // 4) + key + " z" * 40_000))
        assert len(found) <= 60_001 and "MIIEpAIBAAKCAQEA7abc" not in found and "redacted" in found


def with_comments(*comments: tuple[str, bool]) -> dict[str, Any]:
    return {
        "reports": len(comments),
        "comments": [
            {"issue": {"name": name}, "text": f"line of {name}", "quoted": quoted}
            for name, quoted in comments
        ],
    }


def test_a_replay_forgets_what_it_would_have_written_below_an_issue_that_is_gone(
    store: PostgresHistory,
) -> None:
    one, other = (store.begin(f"acme/{n}", "words", n, 7).key for n in (1, 2))
    for key in (one, other):
        store.save_page(key, [kept("1"), kept("2"), kept("3")])
        store.save_replay(key, NOW, with_comments(("#3", True), ("#2", False), ("#1", True)))
    store.drop(one, "2")
    store.drop(one, "7")
    found = store.kept_replay(one)
    assert found is not None
    assert found[1] == with_comments(("#3", True), ("#2", False), ("#1", True)) | {
        "comments": with_comments(("#3", True), ("#1", True))["comments"]
    }
    store.drop(one, "3")
    store.drop(one, "1")
    left = store.kept_replay(one)
    assert left is not None and left[1]["comments"] == []
    assert store.kept_replay(other) == (NOW, with_comments(("#3", True), ("#2", False), ("#1", True)))


def test_a_replay_holds_nothing_of_an_issue_that_goes_while_it_computes(
    store: PostgresHistory, database: str
) -> None:
    key = store.begin(NAME, "words", 1, 7).key
    for id in "12":
        one = kept(id)
        assert one.record is not None
        told = replace(one.record, told=("nccl-picks-docker-or-veth-interface",))
        store.save_page(key, [replace(one, record=told, text="It hangs.")])

    def triage(report: Report) -> Triage:
        store.drop(key, "1")
        raise CoreFailed("down")

    keep_replay(database, key, triage=triage)
    found = store.kept_replay(key)
    assert found is not None and [one["issue"]["id"] for one in found[1]["comments"]] == ["2"]


@pytest.mark.parametrize("keep_texts", [False, True])
def test_a_worker_without_the_setting_deletes_texts_and_the_replays_that_quote_them(
    store: PostgresHistory, opened: Any, keep_texts: bool
) -> None:
    one, other = (store.begin(f"acme/{n}", "words", n, 7).key for n in (1, 2))
    store.save_page(one, [replace(kept("1"), text="It hangs.")])
    store.save_page(other, [kept("1")])
    store.save_replay(one, NOW, with_comments(("#2", False), ("#1", True)))
    store.save_replay(other, NOW, with_comments(("#2", False)))

    async def go() -> None:
        async with opened(keep_texts=keep_texts) as service:
            work = await asyncio.to_thread(work_of, service, None, FakeCore(), recorder=TinyRecorder())
            assert set(store.texts(one, ["1"])) == ({"1"} if keep_texts else set())
            # Another worker may have kept one since.
            store.save_page(one, [replace(kept("1"), text="It hangs.")])
            await work.chores["sweep"]()
            work.close()

    asyncio.run(go())
    assert set(store.texts(one, ["1"])) == ({"1"} if keep_texts else set())
    assert (store.kept_replay(one) is not None) is keep_texts
    assert store.kept_replay(other) is not None


@pytest.mark.parametrize("keep_texts", [False, True])
def test_the_service_keeps_the_text_of_an_issue_that_it_triages(
    store: PostgresHistory, opened: Any, keep_texts: bool
) -> None:
    key = store.begin("octo/train", "words", 11, 7).key
    payload = issue_payload(1, body=f"It hangs.\nexport TOKEN={SECRET}")
    call = StoredDelivery(
        "d1", "github", "issues", "opened", "l", payload, "queued", 1, None, None, None, NOW, None
    )

    async def go() -> None:
        async with opened(keep_texts=keep_texts) as service:
            work = await asyncio.to_thread(work_of, service, None, FakeCore(), recorder=TinyRecorder())
            await asyncio.to_thread(work.handlers["github"], call)
            work.close()

    asyncio.run(go())
    assert store.count(key) == 1
    bodies = [one.body for one in store.texts(key, ["1"]).values()]
    assert len(bodies) == keep_texts
    assert all(body.startswith("It hangs.") and SECRET not in body for body in bodies)


def test_no_text_without_evidence() -> None:
    past = PastIssue(AGAIN, still_open())
    assert kept_issue(past, None, with_text=True).text is None
    made: KeptIssue = kept_issue(past, TinyRecorder().records([AGAIN]).records[0])
    assert made.text is None
