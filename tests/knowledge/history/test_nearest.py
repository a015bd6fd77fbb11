"""From posts to the nearest earlier report and why it is the same failure."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from knowledge.errors import ModelError
from knowledge.history.index import CLOSE, Index, Postings, fused
from knowledge.history.pairs import NAMES, telling
from knowledge.history.record import Post, Record
from knowledge.history.verifier import (
    VERIFIED,
    Weights,
    closest,
    compare,
    load_weights,
    nearest,
    save_weights,
    shared,
)
from tests.knowledge.history.tiny import AGAIN, OTHERS, TIMEOUT, WordEncoder, made, post


def indexed(records: list[Record]) -> Index:
    index = Index(WordEncoder.dims)
    for record in records:
        index.add(record)
    return index


def test_the_same_failure_in_other_words_is_nearest_and_says_why() -> None:
    *earlier, again = made([*OTHERS, AGAIN])
    near = nearest(again, indexed(earlier), load_weights())
    assert near[0].record.id == "2"
    why = near[0].shared
    assert why.signatures and why.exception == "RuntimeError" and why.innermost
    assert why.frames[0] == "trainer/call.py:_call_and_handle_interrupt"
    assert why.line.startswith("watchdog caught collective operation timeout: worknccl(seqnum=0,")
    assert why.versions["torch"] == "2.4.0" and not why.differ


def test_versions_that_differ_are_named_from_both_sides() -> None:
    first, second = made([OTHERS[1], replace(AGAIN, body=AGAIN.body.replace("2.4.0", "2.5.1"))])
    (tells,) = telling(second, [first], Postings())
    assert shared(second, first, Postings(), tells).differ == {"torch": ("2.5.1", "2.4.0")}


def test_state_and_resolution_come_along() -> None:
    first = replace(OTHERS[1], state="closed", resolution="completed")
    *_, why = [near.shared for near in nearest(made([AGAIN])[0], indexed(made([first])), load_weights())]
    assert (why.state, why.resolution) == ("closed", "completed")


def test_nothing_is_near_an_empty_history_and_little_in_an_empty_report() -> None:
    again, empty = made([AGAIN, post("7", "", "")])
    assert nearest(again, Index(WordEncoder.dims), load_weights()) == []
    assert not any(near.shown for near in nearest(empty, indexed(made(OTHERS)), load_weights()))


def test_unlike_reports_are_not_shown() -> None:
    *earlier, new = made([*OTHERS, post("8", "Spelling mistake in the readme", "It says recieve.", 9)])
    assert not any(near.shown for near in nearest(new, indexed(earlier), load_weights()))


def test_likeness_without_a_common_error_or_title_is_not_shown() -> None:
    sure = Weights(tuple(1.0 for _ in NAMES), (9.0, *[0.0] * (len(VERIFIED) - 1)), 0.5)
    tasks = made(
        [
            post("0", "Scheduler drops tasks", "The scheduler drops the tasks of a paused queue."),
            post("1", "A paused queue", "The scheduler drops the tasks of a paused queue."),
        ]
    )
    assert not closest(tasks[1], tasks[:1], Postings(), sure)[0].shown
    again, first = made([AGAIN, OTHERS[1]])
    assert closest(again, [first], Postings(), sure)[0].shown


def test_at_most_two_are_shown() -> None:
    sure = Weights(tuple(1.0 for _ in NAMES), (9.0, *[0.0] * (len(VERIFIED) - 1)), 0.5)
    copies = made([replace(OTHERS[1], id=str(n)) for n in range(5)])
    assert [near.shown for near in closest(made([AGAIN])[0], copies, Postings(), sure)] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_what_comes_later_changes_no_rarity() -> None:
    *earlier, again = made([*OTHERS, AGAIN])
    index = indexed(earlier)
    before = [(near.record.id, near.score) for near in nearest(again, index, load_weights())]
    rebuilt = indexed(earlier)
    assert [(near.record.id, near.score) for near in nearest(again, rebuilt, load_weights())] == before
    rarity = index.words.rarity(["nccl"])
    index.add(again)
    assert index.words.rarity(["nccl"]) < rarity


def test_any_storage_ranks_as_the_index_in_memory() -> None:
    """A database that returns the same records and rarities gives the same numbers."""
    *earlier, again = made([*OTHERS, AGAIN])
    index = indexed(earlier)
    stored = [(json.dumps(record.to_json()), record.vectors.copy()) for record in earlier]
    loaded = [Record.from_json(json.loads(values), vectors) for values, vectors in stored]
    assert np.array_equal(compare(again, loaded, index.words), compare(again, earlier, index.words))
    assert loaded[1].frames == earlier[1].frames and loaded[1].opened == earlier[1].opened


def test_a_record_holds_neither_secrets_nor_the_text() -> None:
    secret = "ghp_" + "a1B2" * 9
    (record,) = made(
        [
            post(
                "1",
                f"Token {secret} leaks",
                f"export TOKEN={secret}\n{TIMEOUT.format(user='ann', line=1, rank=0)}",
            )
        ]
    )
    stored = json.dumps(record.to_json())
    assert secret.lower() not in stored.lower() and "ann" not in record.body


def test_dates_may_be_missing_and_hours_of_different_zones_compare() -> None:
    undated, dated, plain = made(
        [
            Post("1", "NCCL timeout", ""),
            AGAIN,
            replace(AGAIN, opened=AGAIN.opened and AGAIN.opened.replace(tzinfo=None)),
        ]
    )
    ages = compare(dated, [undated, plain], Postings())[:, NAMES.index("age")]
    assert ages[0] < ages[1] == 0


def test_scores_are_finite_for_odd_reports() -> None:
    odd = made(
        [
            post("1", "", ""),
            post("2", "\ud800", "\x00" * 50),
            post("3", "日本語の報告", "{code}\n{noformat}" * 400),
        ]
    )
    assert np.isfinite(compare(odd[0], odd, Postings())).all()


def test_damaged_weights_are_told(tmp_path: Path) -> None:
    file = tmp_path / "weights.json"
    save_weights(load_weights(), {}, file)
    assert load_weights(file) == load_weights()
    file.write_text(file.read_text().replace('"words"', '"wards"'))
    with pytest.raises(ModelError, match="different features"):
        load_weights(file)
    file.write_text("{")
    with pytest.raises(ModelError, match="Can't read"):
        load_weights(file)


def test_what_several_searches_find_comes_before_what_one_finds_first() -> None:
    once, twice = np.array([7, 3]), np.array([5, 3])
    assert fused([once, twice]) == [3, 5, 7]
    many = np.arange(1000, 1000 + 2 * CLOSE)
    found = fused([many, np.array([1000 + CLOSE, 1])])
    assert len(found) == CLOSE and found == sorted(found)
    assert {1000, 1000 + CLOSE, 1} <= set(found) and many[-1] not in found


def test_of_two_that_stand_alike_the_older_is_kept() -> None:
    apart = [np.array([n]) for n in range(CLOSE + 1)]
    assert fused(apart) == list(range(CLOSE))
