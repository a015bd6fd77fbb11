"""The index of a service: the same candidates as the one that measures, edits replace, nothing later is found."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np

from knowledge.history.index import FLAT, GrowingIndex, Index, Postings, View, best
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


MANY = FLAT + 2_000


def test_the_highest_of_many_scores_are_found() -> None:
    rng = np.random.default_rng(3)
    for share in (0.9, 0.1, 0.0005, 0):
        scores = rng.random(MANY + 5) * (rng.random(MANY + 5) < share)
        wanted = [n for n in np.argsort(-scores, kind="stable")[:60] if scores[n] > 0]
        assert set(best(scores, 60)) == set(wanted), share


def test_in_a_large_history_documents_with_the_same_rare_words_are_found() -> None:
    """Common words are in half of all, so that their postings are more than are read in full."""
    rng = np.random.default_rng(5)
    common = [f"c{n}" for n in range(40)]
    postings = Postings()
    for n in range(MANY):
        here = rng.random(len(common)) < 0.5
        some = {word: 1 for word, held in zip(common, here, strict=True) if held}
        postings.add({**some, f"topic{n % 300}": 1, f"name{n % 5_000}": 2})
    fits = np.arange(MANY) % 2 == 0
    for n in (8, 4_000, 31_000):
        query = {**dict.fromkeys(common[::2], 1), f"topic{n % 300}": 1, f"name{n % 5_000}": 1}
        scores = np.where(fits, postings.cosines(query), 0)
        found = postings.nearest(query, fits, 60)
        wanted = np.argsort(-scores, kind="stable")[:60]
        assert set(wanted[:10]) <= set(found) and fits[found].all()
        assert len(set(found) & set(wanted)) >= 58


def test_in_a_large_history_the_nearest_vectors_that_fit_are_found() -> None:
    rng = np.random.default_rng(9)
    centres = rng.standard_normal((500, 64))
    vectors = centres[rng.integers(500, size=MANY)] + rng.standard_normal((MANY, 64)) * 0.7
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    view = View(64)
    for vector in vectors:
        view.add(vector)
    fits = np.arange(MANY) < MANY - 1_000
    shares = []
    for query in vectors[-30:]:
        found = view.nearest(query, fits, 60)
        assert fits[found].all() and len(found) == 60
        wanted = np.argsort(-np.where(fits, vectors @ query, -1))[:10]
        shares.append(len(set(wanted) & set(found)) / 10)
    assert np.mean(shares) >= 0.98
