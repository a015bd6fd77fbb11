"""The index of a service: the same candidates as the one that measures, edits replace, nothing later is found."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np

from knowledge.history.index import FLAT, TELLS, GrowingIndex, Index, Postings, View, best
from knowledge.history.record import Record
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


def having(id: str, day: int, *signatures: str, failures: tuple[str, ...] = (), **versions: str) -> Record:
    """A report of which nothing but these facts is like another."""
    record = made([post(id, f"Title {id} of {id * 3}", "", day)])[0]
    vectors = np.zeros((2, WordEncoder.dims), np.float32)
    vectors[:, int(id) % WordEncoder.dims] = 1
    named = {"title": {f"w{id}": 1}, "body": {}, "error": {}, "vectors": vectors}
    return replace(record, signatures=signatures, failures=failures, versions=versions, **named)  # type: ignore[arg-type]


def by_facts(records: list[Record], query: Record) -> list[str]:
    """What both indexes find of records in which words and vectors are all different."""
    measured = Index(WordEncoder.dims)
    for record in records:
        measured.add(record)
    found = growing(records)
    assert sorted(one.id for one in measured.candidates(query)) == sorted(found.candidates(query))
    return [records[n].id for n in measured.searches(query)[-1]]


def test_a_rare_fact_in_common_makes_a_candidate_a_common_one_less_so() -> None:
    common = [having(str(n), n, torch="2.4.0") for n in range(1, 10)]
    signature = having("11", 11, "nccl-watchdog-timeout", torch="2.3.1")
    failure = having("12", 12, failures=("nccl-version-mismatch",))
    version = having("13", 13, torch="2.5.0")
    query = having("20", 20, "nccl-watchdog-timeout", failures=("nccl-version-mismatch",), torch="2.4.0")
    found = by_facts([*common, signature, failure, version], query)
    assert found == ["12", "11", *(str(n) for n in range(9, 0, -1))], "the rarest first, then the newest"
    assert by_facts([*common, signature], having("20", 20, torch="9.9", nccl="2.4.0")) == []


def test_a_fact_that_too_many_have_is_not_looked_up() -> None:
    many = [having(str(n), n, "attribute-missing") for n in range(1, TELLS + 1)]
    rare = having(str(TELLS + 1), TELLS + 1, "nccl-watchdog-timeout")
    query = having(str(TELLS + 9), TELLS + 9, "attribute-missing", "nccl-watchdog-timeout")
    assert len(by_facts([*many, rare], query)) == 60
    one_more = having(str(TELLS + 2), TELLS + 2, "attribute-missing")
    assert by_facts([*many, rare, one_more], query) == [rare.id]


def test_what_is_replaced_or_came_later_is_not_found_by_facts_either() -> None:
    old, later = having("1", 1, "a"), having("2", 9, "a")
    index = growing([old, later, having("4", 1, "c"), having("5", 1, "c")])
    query = having("3", 5, "a")
    assert index.candidates(query) == ["1"]
    index.put(having("1", 1, "b"))
    assert index.candidates(query) == []
