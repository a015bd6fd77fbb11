"""What every store of the GitHub App does, the one on PostgreSQL and the one that other tests use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.db.connect import sync_pool
from bot.github.ports import Store
from bot.github.records import (
    CommentNote,
    ConfigCache,
    Correction,
    Dismissal,
    DraftDecision,
    IssueRef,
    LabelFact,
    Noise,
    PastedResult,
    Request,
    Resolution,
)
from bot.github.store.postgres import PostgresStore
from tests.bot.memory_store import MemoryStore
from tests.bot.service.test_store import ISSUE, NOW, REPO, a_record


@pytest.fixture(params=["memory", "postgresql"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
        return
    with sync_pool(request.getfixturevalue("database"), 4) as pool:
        yield PostgresStore(pool)


def test_the_newest_triage_of_an_issue_comes_back_as_it_went_in(store: Store) -> None:
    store.save_triage(a_record(at=NOW - timedelta(hours=1), input_hash="old"))
    store.save_triage(a_record())
    store.save_triage(a_record(issue=IssueRef(7, REPO, 2), input_hash="another"))
    assert store.last_triage(ISSUE) == a_record()
    assert store.last_triage(IssueRef(7, REPO, 3)) is None


def test_a_request_is_one_an_item_and_comes_back_as_it_went_in(store: Store) -> None:
    log = Request("log", "Please post the log.", "h1", NOW)
    stacks = Request("stacks", "Please post the stacks.", "h1", NOW + timedelta(seconds=1))
    store.save_request(ISSUE, stacks)
    store.save_request(ISSUE, log)
    came = replace(log, state="arrived", ended_at=NOW + timedelta(minutes=5))
    store.save_request(ISSUE, came)
    assert store.requests(ISSUE) == [came, stacks]
    assert store.requests(IssueRef(7, REPO, 2)) == []


def test_a_resolution_is_the_last_one_until_it_is_forgotten(store: Store) -> None:
    store.save_resolution(ISSUE, Resolution(NOW, "not_planned", "ada"))
    last = Resolution(NOW, "completed", "ada", "6dcb09b", "octo/train#5", "Fixed by it.", "ada", "author")
    store.save_resolution(ISSUE, last)
    assert store.resolution(ISSUE) == last
    store.forget_resolution(ISSUE)
    store.forget_resolution(ISSUE)
    assert store.resolution(ISSUE) is None


def test_triages_of_an_issue_are_counted(store: Store) -> None:
    for number in (1, 1, 2):
        store.save_triage(a_record(issue=IssueRef(7, REPO, number)))
    assert [store.triage_count(IssueRef(7, REPO, n)) for n in (1, 2, 3)] == [2, 1, 0]


def test_label_facts_come_oldest_first(store: Store) -> None:
    facts = [LabelFact(ISSUE, "hang", n % 2 == 0, "ada", False, NOW + timedelta(seconds=n)) for n in range(4)]
    for fact in reversed(facts):
        store.save_label_fact(fact)
    assert store.label_facts(ISSUE) == facts


def test_a_correction_of_the_same_comment_replaces_the_earlier_one(store: Store) -> None:
    first = Correction(ISSUE, 5, "ada", NOW, {"symptom": ("D.2.1",)}, "t", "b")
    store.save_correction(first)
    second = replace(first, labels={"cause": ("network_environment",)}, at=NOW + timedelta(seconds=1))
    store.save_correction(second)
    third = replace(first, comment_id=6)
    store.save_correction(third)
    assert store.corrections(ISSUE) == [third, second]


def test_results_commands_config_and_switch(store: Store) -> None:
    two, three = PastedResult(6, "ada", True, "two"), PastedResult(5, "ada", False, "three")
    store.save_result(ISSUE, replace(three, text="one"), NOW)
    store.save_result(ISSUE, two, NOW)
    store.save_result(ISSUE, three, NOW + timedelta(seconds=1))
    assert store.results(ISSUE, 8) == [three, two]
    assert store.results(ISSUE, 1) == [three]
    store.forget_result(5)
    store.forget_result(5)
    assert store.results(ISSUE, 8) == [two]
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
    assert store.claim_config_note(11, None), "given back"
    assert store.claim_config_note(11, "bad")
    assert store.repo_on(11)
    store.set_repo_on(11, False, "ada", NOW)
    assert not store.repo_on(11)


def test_noise_counts_the_last_comments_since_the_repository_was_switched_on(store: Store) -> None:
    for number in range(1, 7):
        ref = IssueRef(7, REPO, number)
        store.save_comment_note(ref, CommentNote(number, NOW + timedelta(minutes=number)))
    for number in (1, 6, 6):
        store.save_dismissal(Dismissal(IssueRef(7, REPO, number), "ada", "command", NOW, by_maintainer=True))
    assert store.noise(11, 10) == Noise(6, 2)
    assert store.noise(11, 3) == Noise(3, 1)
    store.set_repo_on(11, True, "ada", NOW + timedelta(minutes=4))
    assert store.noise(11, 10) == Noise(3, 1)
    assert store.noise(12, 10) == Noise(0, 0)


def test_of_people_without_rights_each_counts_once_as_noise(store: Store) -> None:
    for number, by in enumerate(["eve", "eve", "eve", "bob", "ada", "ada"], 1):
        ref = IssueRef(7, REPO, number)
        store.save_comment_note(ref, CommentNote(number, NOW + timedelta(minutes=number)))
        store.save_dismissal(Dismissal(ref, by, "command", NOW, by_maintainer=by == "ada"))
    assert store.noise(11, 10) == Noise(6, 4)


def test_the_last_decision_about_a_draft_counts_for_its_text_alone(store: Store) -> None:
    first = DraftDecision(ISSUE, "h", "post", ("One.", "Two."), "page", NOW)
    store.save_draft_decision(first)
    assert store.draft_decision(ISSUE, "h") == first
    second = replace(first, decision="reject", sentences=())
    store.save_draft_decision(second)
    assert store.draft_decision(ISSUE, "h") == second
    assert store.draft_decision(ISSUE, "another text") is None
