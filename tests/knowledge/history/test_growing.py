"""The index of a service: the same candidates as the one that measures, edits replace, nothing later is found."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np

from knowledge.history.index import GrowingIndex, Index
from tests.knowledge.history.tiny import AGAIN, OTHERS, WordEncoder, made, post


def growing(records: list) -> GrowingIndex:  # type: ignore[type-arg]
    index = GrowingIndex(WordEncoder.dims)
    for record in records:
        index.put(record)
    return index


def test_it_finds_what_the_measured_index_finds() -> None:
    *earlier, again = made([*OTHERS, AGAIN])
    measured = Index(WordEncoder.dims)
    for record in earlier:
        measured.add(record)
    for pool in (1, 2, 60):
        wanted = [record.id for record in measured.candidates(again, pool)]
        assert growing(earlier).candidates(again, pool) == wanted


def test_on_many_records_too() -> None:
    rng = np.random.default_rng(7)
    words = [f"w{n}" for n in range(300)]
    posts = [
        post(str(n), " ".join(rng.choice(words, 6)), " ".join(rng.choice(words, 30)), n) for n in range(400)
    ]
    *earlier, query = made(posts)
    measured = Index(WordEncoder.dims)
    for record in earlier:
        measured.add(record)
    wanted = {record.id for record in measured.candidates(query, 20)}
    found = set(growing(earlier).candidates(query, 20))
    assert len(wanted ^ found) <= 2, "half precision may swap the last ones"


def test_an_edited_report_replaces_what_it_was() -> None:
    *earlier, again = made([*OTHERS, AGAIN])
    index = growing(earlier)
    assert index.candidates(again, 60) == ["1", "2", "3", "4", "5"]
    index.put(made([post("2", "Docs: a wrong link", "NCCL timeout, nothing else.", 1)])[0])
    assert index.candidates(again, 60) == ["1", "3", "4", "5", "2"], "once, and where it is now"


def test_later_reports_and_the_report_itself_are_not_candidates() -> None:
    *earlier, again = made([*OTHERS, AGAIN])
    assert again.opened is not None
    later = replace(again, id="9", opened=again.opened + timedelta(days=1))
    index = growing([*earlier, again, later])
    assert not {"6", "9"} & set(index.candidates(again))
    assert "6" in index.candidates(later)
    assert "9" in index.candidates(replace(again, id="x", opened=None)), "without a date any may be earlier"


def test_an_empty_index_finds_nothing() -> None:
    assert growing([]).candidates(made([AGAIN])[0]) == []
