"""The GitHub App's store on PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.db.connect import sync_pool
from bot.github.records import (
    CommentNote,
    ConfigCache,
    Correction,
    InstallationNote,
    IssueRef,
    LabelFact,
    PastedResult,
    RepoRef,
    Request,
    Resolution,
    TriageRecord,
)
from bot.github.store.postgres import WINDOWS, PostgresStore, wait_for
from knowledge.report import Report
from tests.bot.fake_core import a_triage

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
REPO = RepoRef(11, "octo/train")
ISSUE = IssueRef(7, REPO, 1)
BAD = "nul \0 and half a pair \ud800"
GOOD = "nul \ufffd and half a pair \ufffd"


@pytest.fixture
def store(database: str) -> Iterator[PostgresStore]:
    with sync_pool(database, 10) as pool:
        yield PostgresStore(pool)


def a_record(**changes: object) -> TriageRecord:
    record = TriageRecord(
        issue=ISSUE,
        input_hash="h1",
        triage=a_triage(Report("octo/train#1", "Hang", "Watchdog\nrank 3")),
        mode="comment",
        outcome="written",
        reason="new",
        would_post="text",
        would_label=("hang", "nccl"),
        at=NOW,
        title="Hang",
    )
    return replace(record, **changes)  # type: ignore[arg-type]


def test_text_that_postgresql_cannot_hold_is_mended(store: PostgresStore) -> None:
    store.save_triage(
        a_record(title=BAD, would_post=BAD, would_label=(BAD,), triage=a_triage(Report("x", BAD, BAD)))
    )
    found = store.last_triage(ISSUE)
    assert found is not None
    assert (found.title, found.would_post, found.would_label) == (GOOD, GOOD, (GOOD,))
    assert found.triage.evidence.lines[0].text == GOOD
    store.save_correction(Correction(ISSUE, 5, BAD, NOW, {"cause": (BAD,)}, BAD, BAD))
    store.save_label_fact(LabelFact(ISSUE, BAD, True, BAD, False, NOW))
    store.save_result(ISSUE, PastedResult(5, BAD, False, BAD), NOW)
    store.save_config(11, ConfigCache("e", BAD, BAD, BAD))
    assert store.results(ISSUE, 8) == [PastedResult(5, GOOD, False, GOOD)]


def test_the_comment_note_is_replaced_and_keeps_when_it_was_first_noted(store: PostgresStore) -> None:
    assert store.comment_note(ISSUE) is None
    store.save_comment_note(ISSUE, CommentNote(None, NOW))
    assert store.comment_note(ISSUE) == CommentNote(None, NOW)
    assert store.recent_comments(11, NOW) == []
    noted = CommentNote(99, None, "live", True)
    store.save_comment_note(ISSUE, noted)
    assert store.recent_comments(11, NOW) == [(ISSUE, noted)]
    assert store.recent_comments(11, NOW + timedelta(seconds=1)) == []
    store.save_comment_note(ISSUE, replace(noted, state="dismissed"))
    assert store.recent_comments(11, NOW) == []


def test_installations_and_their_repositories(store: PostgresStore) -> None:
    store.save_installation(InstallationNote(7, "octo", "active"))
    store.save_installation(InstallationNote(7, "octo", "suspended"))
    store.save_repos(7, [REPO, RepoRef(12, "octo/other")], [])
    store.save_repos(7, [RepoRef(11, "octo/renamed")], [RepoRef(12, "octo/other")])
    with store._pool.connection() as connection:
        assert connection.execute("SELECT * FROM installations").fetchall() == [(7, "octo", "suspended")]
        assert connection.execute("SELECT * FROM installation_repos").fetchall() == [(7, 11, "octo/renamed")]


def test_the_write_budget_holds_for_all_workers_together(store: PostgresStore) -> None:
    taken: list[float] = []
    threads = [
        threading.Thread(target=lambda: taken.extend(store.take_writes(7, 1, NOW) for _ in range(15)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(wait == 0.0 for wait in taken) == 80
    assert max(taken) == pytest.approx(60.05)
    assert store.take_writes(8, 1, NOW) == 0.0
    assert store.take_writes(7, 1, NOW + timedelta(seconds=61)) == 0.0


@given(
    writes=st.lists(st.tuples(st.integers(0, 4000), st.integers(1, 100)), max_size=40),
    count=st.integers(1, 80),
)
def test_after_waiting_the_writes_fit_every_window(writes: list[tuple[int, int]], count: int) -> None:
    past = sorted((NOW - timedelta(seconds=s), n) for s, n in writes)
    later = NOW + timedelta(seconds=wait_for(past, count, NOW))
    for window, limit in WINDOWS:
        recent = sum(n for at, n in past if at > later - window)
        # Earlier writes may be over the limit by themselves; then there must be none left.
        assert recent + count <= limit or recent == 0


def test_what_is_older_than_the_operator_keeps_is_deleted(store: PostgresStore) -> None:
    now = datetime.now(UTC)
    for days, number in ((40, 1), (20, 2)):
        ref, at = IssueRef(7, REPO, number), now - timedelta(days=days)
        store.save_triage(a_record(issue=ref, at=at))
        store.save_request(ref, Request("log", "Please post the log.", "h", at))
        store.save_resolution(ref, Resolution(at, "completed", "ada"))
        store.save_result(ref, PastedResult(number, "ada", True, "block"), at)
    assert store.forget(30) == 4
    old, young = IssueRef(7, REPO, 1), IssueRef(7, REPO, 2)
    assert (store.last_triage(old), store.requests(old), store.resolution(old), store.results(old, 8)) == (
        None,
        [],
        None,
        [],
    )
    assert store.last_triage(young) is not None
    assert (len(store.requests(young)), len(store.results(young, 8))) == (1, 1)
    assert store.resolution(young) is not None
