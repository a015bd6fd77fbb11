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
from bot.db.store import PostgresStore
from bot.db.write_budget import WINDOWS, wait_for
from bot.github.records import (
    CommentNote,
    ConfigCache,
    Correction,
    Dismissal,
    InstallationNote,
    IssueRef,
    LabelFact,
    Noise,
    RepoRef,
    TriageRecord,
)
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


def test_the_newest_triage_of_an_issue_comes_back_as_it_went_in(store: PostgresStore) -> None:
    store.save_triage(a_record(at=NOW - timedelta(hours=1), input_hash="old"))
    store.save_triage(a_record())
    store.save_triage(a_record(issue=IssueRef(7, REPO, 2), input_hash="another"))
    assert store.last_triage(ISSUE) == a_record()
    assert store.last_triage(IssueRef(7, REPO, 3)) is None


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
    store.save_result(ISSUE, 5, BAD, BAD, NOW)
    store.save_config(11, ConfigCache("e", BAD, BAD, BAD))
    assert store.results(ISSUE) == [GOOD]


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


def test_label_facts_come_oldest_first(store: PostgresStore) -> None:
    facts = [LabelFact(ISSUE, "hang", n % 2 == 0, "ada", False, NOW + timedelta(seconds=n)) for n in range(4)]
    for fact in reversed(facts):
        store.save_label_fact(fact)
    assert store.label_facts(ISSUE) == facts


def test_a_correction_of_the_same_comment_replaces_the_earlier_one(store: PostgresStore) -> None:
    first = Correction(ISSUE, 5, "ada", NOW, {"symptom": ("D.2.1",)}, "t", "b")
    store.save_correction(first)
    second = replace(first, labels={"cause": ("network_environment",)}, at=NOW + timedelta(seconds=1))
    store.save_correction(second)
    third = replace(first, comment_id=6)
    store.save_correction(third)
    assert store.corrections(ISSUE) == [third, second]


def test_results_commands_config_and_switch(store: PostgresStore) -> None:
    store.save_result(ISSUE, 5, "ada", "one", NOW)
    store.save_result(ISSUE, 6, "ada", "two", NOW)
    store.save_result(ISSUE, 5, "ada", "three", NOW + timedelta(seconds=1))
    assert store.results(ISSUE) == ["two", "three"]
    assert not store.command_done(5, "d")
    store.mark_command(5, "d")
    store.mark_command(5, "d")
    assert store.command_done(5, "d")
    assert not store.command_done(5, "e")
    assert store.config(11) is None
    cache = ConfigCache("etag", "mode: label", "bad", None)
    store.save_config(11, cache)
    assert store.config(11) == cache
    assert [store.claim_config_note(11, "bad") for _ in range(2)] == [True, False]
    assert store.config(11) == replace(cache, noted_error="bad")
    assert store.claim_config_note(11, None)
    assert store.repo_on(11)
    store.set_repo_on(11, False, "ada", NOW)
    assert not store.repo_on(11)


def test_noise_counts_the_last_comments_since_the_repository_was_switched_on(store: PostgresStore) -> None:
    for number in range(1, 7):
        ref = IssueRef(7, REPO, number)
        store.save_comment_note(ref, CommentNote(number, NOW + timedelta(minutes=number)))
    for number in (1, 6, 6):
        store.save_dismissal(Dismissal(IssueRef(7, REPO, number), "ada", "command", NOW))
    assert store.noise(11, 10) == Noise(6, 2)
    assert store.noise(11, 3) == Noise(3, 1)
    store.set_repo_on(11, True, "ada", NOW + timedelta(minutes=4))
    assert store.noise(11, 10) == Noise(3, 1)
    assert store.noise(12, 10) == Noise(0, 0)


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
