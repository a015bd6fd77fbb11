"""What every store of histories does, the one on PostgreSQL and the one that other tests use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from bot.db.connect import sync_pool
from bot.history.label_store import LabelTables, Vote
from bot.history.records import Forgotten, HistoryStore, KeptIssue, LabelChange, Outcome, Progress
from bot.history.store import PostgresHistory
from knowledge.history.record import Record
from tests.bot.history.memory_history import MemoryHistory
from tests.knowledge.history.tiny import AGAIN, OTHERS, made

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
RECORDS = {record.id: record for record in made([*OTHERS, AGAIN])}
FIXED = Outcome(
    is_open=False,
    state="closed",
    reason="completed",
    closed_at=NOW,
    closed_by="#1301",
    fix_commit="a" * 40,
    fixed_at=NOW,
    others=3,
    duplicates=("1", "4"),
)


@pytest.fixture(params=["memory", "postgresql"])
def store(request: pytest.FixtureRequest) -> Iterator[HistoryStore]:
    if request.param == "memory":
        yield MemoryHistory()
        return
    with sync_pool(request.getfixturevalue("database"), 4) as pool:
        yield PostgresHistory(pool)


def kept(id: str, outcome: Outcome = FIXED, record: Record | None = None) -> KeptIssue:
    record = record or RECORDS[id]
    return KeptIssue(id, f"Title {id}", "", f"hash {id}", record.opened, outcome, record, ())


def same(found: KeptIssue, wanted: KeptIssue) -> bool:
    """Equal but for vectors, which are kept in half precision."""
    assert found.record is not None and wanted.record is not None
    assert np.allclose(found.record.vectors, wanted.record.vectors, atol=1e-3)
    return replace(found, record=None) == replace(wanted, record=None) and (
        found.record.to_json() == wanted.record.to_json()
    )


def test_an_issue_comes_back_as_it_went_in(store: HistoryStore) -> None:
    key = store.begin("acme/train", "words", 11, 7).key
    labels = (
        LabelChange("hang", True, "ada", True, NOW),
        LabelChange("hang", False, "stale[bot]", False, NOW + timedelta(days=1)),
    )
    issue = replace(kept("2"), labels=labels, title="a\0b")
    store.save_page(key, [issue, kept("3")])
    found = store.issues(key, ["2", "9"])
    assert list(found) == ["2"]
    assert same(found["2"], replace(issue, title=found["2"].title))
    evidence = store.records(key, ["2", "9"])
    assert list(evidence) == ["2"]
    assert same(replace(found["2"], record=evidence["2"]), found["2"])
    assert store.hashes(key, ["2", "3", "9"]) == {"2": "hash 2", "3": "hash 3"}
    assert store.count(key) == 2
    assert store.marks(key) == {"2": ("1", "4"), "3": ("1", "4")}


def test_a_repository_is_found_by_its_id_through_renames_and_by_name(store: HistoryStore) -> None:
    begun = store.begin("acme/train", "words", None, None)
    assert store.find("ACME/Train") == begun
    assert store.find("acme/train", 11) == begun, "filled from an export before its id was known"
    assert store.begin("acme/train", "other", 11, 7).key == begun.key
    assert store.find("acme/renamed", 11) is not None
    assert store.find("acme/train", 12) is None, "another repository of the same name"
    assert store.begin("acme/train", "words", 12, 7).key != begun.key


@pytest.mark.parametrize("few", [1, 100])
def test_new_evidence_is_seen_after_the_version_of_the_last_look(
    store: HistoryStore, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.history.store._FEW", few)
    key = store.begin("acme/train", "words", 11, 7).key
    store.save_page(key, [kept("1"), kept("2")])
    seen = list(store.newer(key, 0))
    assert [record.id for _, record in seen] == ["1", "2"]
    last = seen[-1][0]
    assert list(store.newer(key, last)) == []
    store.save_page(key, [replace(kept("1"), record=None, outcome=Outcome(True, "open"))])
    assert list(store.newer(key, last)) == [], "an outcome is no evidence"
    assert store.issues(key, ["1"])["1"].outcome.is_open
    store.save_page(key, [kept("3"), kept("1")])
    assert [record.id for _, record in store.newer(key, last)] == ["1", "3"]


def test_progress_is_kept_with_its_page_and_a_page_without_it_leaves_it(store: HistoryStore) -> None:
    key = store.begin("acme/train", "words", 11, 7).key
    progress = Progress(source="github", cursor="abc", read=50, total=900, since="2026-01-01")
    store.save_page(key, [kept("1")], progress)
    store.save_page(key, [kept("2")])
    found = store.find("acme/train", 11)
    assert found is not None and found.progress == progress


def test_a_fix_stays_in_its_release_until_it_is_another_fix(store: HistoryStore) -> None:
    key = store.begin("acme/train", "words", 11, 7).key
    store.save_page(key, [kept("1"), kept("2"), kept("3", Outcome(False, "closed"))])
    assert store.unreleased(key) == [("a" * 40, NOW)]
    store.save_released(key, {"a" * 40: "v0.9.2"})
    assert store.unreleased(key) == []
    store.save_page(key, [kept("1"), replace(kept("2"), record=None)])
    assert [i.outcome.released for i in store.issues(key, ["1", "2"]).values()] == ["v0.9.2"] * 2
    store.save_page(key, [kept("1", replace(FIXED, fix_commit="b" * 40))])
    assert store.issues(key, ["1"])["1"].outcome.released == ""


def test_labels_are_replaced_as_a_whole_or_left(store: HistoryStore) -> None:
    key = store.begin("acme/train", "words", 11, 7).key
    one, two = LabelChange("a", True, "ada", True, NOW), LabelChange("b", True, "bob", True, NOW)
    store.save_page(key, [replace(kept("1"), labels=(one,))])
    store.save_page(key, [replace(kept("1"), labels=(one, two))])
    store.save_page(key, [replace(kept("1"), labels=None)])
    assert store.issues(key, ["1"])["1"].labels == (one, two)


@pytest.mark.parametrize("how", [{"repo_ids": [11]}, {"names": ["Acme/TRAIN"]}, {"installation_id": 7}])
def test_everything_of_a_repository_is_deleted_and_nothing_comes_back(
    store: HistoryStore, how: dict[str, object]
) -> None:
    key = store.begin("acme/train", "words", 11, 7).key
    other = store.begin("acme/other", "words", 12, 8).key
    for one in (key, other):
        store.save_page(one, [replace(kept("1"), labels=(LabelChange("a", True, "ada", True, NOW),))])
    assert store.forget(**how) == 1  # type: ignore[arg-type]
    assert store.find("acme/train", 11) is None
    assert store.issues(key, ["1"]) == {}
    assert store.count(other) == 1
    with pytest.raises(Forgotten):
        store.save_page(key, [kept("2")])
    assert store.forget() == 0


def test_a_repository_that_once_had_the_name_is_not_forgotten(store: HistoryStore) -> None:
    renamed = store.begin("acme/train", "words", 11, 7)
    store.begin("acme/train", "words", 12, 7)
    assert store.forget([12], ["acme/train"]) == 1
    assert store.find("acme/train", 11) == renamed
    assert store.forget(names=["acme/train"]) == 1
    store.begin("Acme/Train", "words", None, None)
    assert store.forget([12], ["acme/train"]) == 1, "what an export filled"


def test_begun_again_it_is_empty_and_a_threshold_set_by_hand_stays(store: HistoryStore) -> None:
    begun = store.begin("acme/train", "words", 11, 7)
    other = store.begin("acme/other", "words", 12, 7)
    for one in (begun, other):
        store.save_page(one.key, [kept("1")], Progress(source="github", through="2026"))
    store.save_fitted(begun.key, 0.6)
    again = store.begin_again("acme/train", "vectors", 11, 7)
    assert (again.encoder, again.progress, again.threshold) == ("vectors", Progress(), None)
    assert again.key != begun.key and store.count(again.key) == 0 and store.count(other.key) == 1
    store.save_threshold(again.key, 0.4)
    assert store.begin_again("acme/train", "vectors", 11, 7).threshold == 0.4


def test_begun_again_it_keeps_what_people_said(database: str) -> None:
    with sync_pool(database, 2) as pool:
        store, labels = PostgresHistory(pool), LabelTables(pool)
        begun = store.begin("acme/train", "words", 11, 7)
        vote = Vote("5", "same", "3", "ada", "maintainer", False, NOW)
        labels.save_vote(begun.key, vote)
        again = store.begin_again("acme/train", "words", 11, 7)
        assert labels.votes(again.key, "same") == [vote]


def test_an_outcome_of_an_issue_that_is_not_kept_is_nothing(store: HistoryStore) -> None:
    key = store.begin("acme/train", "words", 11, 7).key
    change = LabelChange("a", True, "ada", True, NOW)
    store.save_page(key, [replace(kept("1"), record=None, labels=(change,))])
    assert store.count(key) == 0


def test_a_threshold_of_its_own(store: HistoryStore) -> None:
    key = store.begin("acme/train", "words", 11, 7).key
    store.save_threshold(key, 0.4)
    found = store.begin("acme/train", "words", 11, 7)
    assert found.threshold == 0.4
    store.save_threshold(key, None)
    assert store.begin("acme/train", "words", 11, 7).threshold is None


def test_a_threshold_that_fits_itself_leaves_one_that_somebody_had_fitted(store: HistoryStore) -> None:
    key = store.begin("acme/train", "words", 11, 7).key
    other = store.begin("acme/other", "words", 12, 7).key

    def now() -> float | None:
        return store.begin("acme/train", "words", 11, 7).threshold

    store.save_fitted(key, 0.6)
    assert now() == 0.6 and store.begin("acme/other", "words", 12, 7).threshold is None
    store.save_fitted(key, None)
    assert now() is None, "what no longer holds is taken back"
    store.save_threshold(key, 0.4)
    store.save_fitted(key, 0.6)
    assert now() == 0.4
    store.save_threshold(key, None)
    store.save_fitted(key, 0.6)
    store.save_fitted(other, 0.7)
    assert now() == 0.6


def test_marks_are_counted_where_the_app_is(store: HistoryStore) -> None:
    key = store.begin("acme/train", "words", 11, 7).key
    export = store.begin("acme/export", "words", None, None).key
    store.save_page(key, [kept("1"), kept("2"), kept("3", replace(FIXED, duplicates=()))])
    store.save_page(export, [kept("1")])
    [one] = store.marked()
    assert (one.repo.key, one.marks, one.fitted) == (key, 2, 0)
    store.note_marks(key)
    store.save_page(key, [kept("4")])
    [one] = store.marked()
    assert (one.marks, one.fitted) == (3, 2)


def bodies(store: HistoryStore, key: int) -> dict[str, tuple[str, str]]:
    return {id: (one.title, one.body) for id, one in store.texts(key, ["1", "2", "3", "9"]).items()}


def test_texts_come_and_go_with_the_evidence(store: HistoryStore) -> None:
    key = store.begin("acme/train", "words", 11, 7).key
    one = replace(kept("1"), text="It hangs.")
    store.save_page(key, [one, replace(kept("2"), text=""), kept("3")])
    assert bodies(store, key) == {"1": ("Title 1", "It hangs."), "2": ("Title 2", "")}
    assert store.issues(key, ["1"])["1"].text is None
    store.save_page(key, [replace(kept("1"), record=None, outcome=Outcome(False, "closed"))])
    assert bodies(store, key)["1"] == ("Title 1", "It hangs."), "how it ended changes no text"
    store.save_page(key, [replace(one, text="Edited."), replace(one, text="Twice in one page.")])
    assert bodies(store, key)["1"] == ("Title 1", "Twice in one page.")
    store.save_page(key, [kept("1")])
    assert set(bodies(store, key)) == {"2"}, "read again without its text, the old one is out of date"


def test_texts_go_with_the_issue_with_the_repository_and_all_together(store: HistoryStore) -> None:
    keys = [store.begin(f"acme/{n}", "words", n, n).key for n in (1, 2, 3)]
    for key in keys:
        store.save_page(key, [replace(kept(id), text="It hangs.") for id in "12"])
    store.drop(keys[0], "1")
    store.forget(installation_id=2)
    assert [set(bodies(store, key)) for key in keys] == [{"2"}, set(), {"1", "2"}]
    assert store.forget_texts() == 3
    assert bodies(store, keys[0]) == bodies(store, keys[2]) == {}
    assert store.count(keys[2]) == 2, "the rest of the history stays"


def test_one_issue_can_be_dropped(store: HistoryStore) -> None:
    key = store.begin("acme/train", "words", 11, 7).key
    store.save_page(key, [kept("1"), kept("2")])
    store.drop(key, "1")
    store.drop(key, "1")
    assert store.count(key) == 1
