"""How well an entry fits a report: where its line stands, framework, versions, likeness, symptom."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from knowledge.findings.pairs import CANDIDATES, NAMES
from tests.knowledge.findings.tiny import BARE, DIMS, catalogue, entry, numbers, report

PORT = entry("port", patterns=("Address already in use", "port 29500 is taken"))
PLACES = ("line_in_log", "line_in_prose", "line_in_code")


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("It dies:\n\n```\nRuntimeError: Address already in use\n```\n", "line_in_log"),
        (
            "I searched for the words Address already in use and found nothing that helps me.\n",
            "line_in_prose",
        ),
        ("```python\nif 'Address already in use' in str(error):\n    retry()\n```\n", "line_in_code"),
    ],
)
def test_a_telltale_line_counts_by_where_it_stands(body: str, place: str) -> None:
    found = numbers(catalogue(PORT).pairs(report(body), BARE, {}), "port")
    assert [found[name] for name in PLACES] == [float(name == place) for name in PLACES]


def test_a_line_that_is_in_the_log_too_is_not_one_of_prose() -> None:
    body = "It says Address already in use every time.\n\n```\nRuntimeError: Address already in use\n```\n"
    pairs = catalogue(PORT).pairs(report(body), BARE, {})
    found = numbers(pairs, "port")
    assert (found["line_in_log"], found["line_in_prose"]) == (1.0, 0.0)
    assert pairs.lines == ((1, 4),)


def test_the_title_counts_as_an_account_and_is_line_0() -> None:
    pairs = catalogue(PORT).pairs(report("Nothing else.", title="Address already in use"), BARE, {})
    assert numbers(pairs, "port")["line_in_prose"] == 1.0
    assert pairs.lines == ((0,),)


def test_a_rare_line_tells_more_but_not_in_code() -> None:
    rare = catalogue(PORT, rarity={"port": 1.5})
    log = numbers(rare.pairs(report("```\nError: Address already in use\n```"), BARE, {}), "port")
    code = numbers(rare.pairs(report("```python\nx = 'Address already in use'\n```"), BARE, {}), "port")
    assert (log["line_is_rare"], code["line_is_rare"]) == (0.5, 0.0)


def test_several_patterns_count_and_repetitions_of_one_do_not() -> None:
    one = "```\nRuntimeError: Address already in use\nRuntimeError: Address already in use\n```"
    two = "```\nRuntimeError: Address already in use\nError: port 29500 is taken\n```"
    found = [numbers(catalogue(PORT).pairs(report(body), BARE, {}), "port") for body in (one, two)]
    assert [f["several_lines"] for f in found] == [0.0, 1.0]


def test_a_line_in_the_log_of_another_entry_speaks_against_those_without() -> None:
    other = entry("other")
    both = catalogue(PORT, other)
    telling = both.pairs(report("```\nRuntimeError: Address already in use\n```"), BARE, {})
    assert [numbers(telling, id)["another_line"] for id in ("port", "other")] == [0.0, 1.0]
    said = both.pairs(report("Somebody mentioned Address already in use to me once.\n"), BARE, {})
    assert numbers(said, "other")["another_line"] == 0.0


def test_a_signature_counts_where_no_line_tells() -> None:
    body = "```\nRuntimeError: NCCL error in: x.cpp:1, unhandled system error, NCCL version 2.14.3\n```"
    (signature,) = {hit.signature.id for _, hit in report(body).hits if hit.signature.role == "root"}
    signed = entry("signed", signatures=(signature,))
    both = entry("both", signatures=(signature,), patterns=("unhandled system error",))
    pairs = catalogue(signed, both).pairs(report(body), BARE, {})
    assert [numbers(pairs, id)["signature"] for id in ("signed", "both")] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("about", "said", "fits", "differs"),
    [
        (("pytorch",), "pytorch", 1.0, 0.0),
        (("pytorch",), "deepspeed", 1.0, 0.0),
        (("deepspeed",), "pytorch", 0.0, 0.0),
        (("tensorflow",), "pytorch", 0.0, 1.0),
        (("tensorflow",), "keras", 1.0, 0.0),
        (("pytorch",), "horovod", 0.0, 1.0),
        (("horovod", "pytorch"), "horovod", 1.0, 0.0),
        ((), "pytorch", 0.0, 0.0),
        (("pytorch",), None, 0.0, 0.0),
    ],
)
def test_the_framework_fits_differs_or_says_nothing(
    about: tuple[str, ...], said: str | None, fits: float, differs: float
) -> None:
    pairs = catalogue(entry("e", frameworks=about)).pairs(report("x", framework=said), BARE, {})
    found = numbers(pairs, "e")
    assert (found["framework_fits"], found["framework_differs"]) == (fits, differs)
    assert pairs.held == ((said,) if fits else (),)


@pytest.mark.parametrize(
    ("stated", "fits", "differs"),
    [
        ({"torch": "2.1.0"}, 1.0, 0.0),
        ({"torch": "2.1.0+cu118"}, 1.0, 0.0),
        ({"torch": "2.1.0.dev20230701"}, 1.0, 0.0),
        ({"torch": "2.3.0"}, 0.0, 1.0),
        ({"torch": "2.0.0rc1"}, 0.0, 1.0),
        ({"torch": "1.13.1"}, 0.0, 1.0),
        ({"torch": "nightly-ish"}, 0.0, 0.0),
        ({"numpy": "1.26"}, 0.0, 0.0),
        ({"torch": "2.3.0", "nccl": "2.14.3"}, 1.0, 0.0),
        ({"torch": "2.3.0", "nccl": "2.20"}, 0.0, 1.0),
        ({}, 0.0, 0.0),
    ],
)
def test_a_stated_version_is_in_the_range_or_outside_it(
    stated: dict[str, str], fits: float, differs: float
) -> None:
    affected = entry("e", versions={"torch": ">=2.0,<2.2", "nccl": "<2.15"})
    pairs = catalogue(affected).pairs(report("x", versions=stated, framework=None), BARE, {})
    found = numbers(pairs, "e")
    assert (found["version_fits"], found["version_differs"]) == (fits, differs)
    wanted = {f"{name} {version}" for name, version in stated.items() if name in affected.versions}
    assert set(pairs.held[0]) == (wanted if fits else set())


@pytest.mark.parametrize(
    ("opened", "stated", "differs"),
    [
        ("2020-04-30", {}, 1.0),
        ("2023-04-01", {}, 0.0),
        ("1970-01-01", {}, 0.0),
        ("2020-04-30", {"torch": "2.1.0"}, 0.0),
        ("1970-01-01", {"numpy": "1.16"}, 1.0),
    ],
)
def test_what_began_with_a_release_that_was_not_out_is_not_it(
    opened: str, stated: dict[str, str], differs: float
) -> None:
    affected = entry("e", versions={"torch": ">=2.0"})
    read = report("x", versions=stated, framework=None)
    read = replace(read, report=replace(read.report, opened=opened))
    assert numbers(catalogue(affected).pairs(read, BARE, {}), "e")["version_differs"] == differs


def test_what_ended_with_a_release_says_nothing_of_when() -> None:
    read = report("x", framework=None, versions={})
    read = replace(read, report=replace(read.report, opened="2016-01-01"))
    found = numbers(catalogue(entry("e", versions={"torch": "<2.0"})).pairs(read, BARE, {}), "e")
    assert found["version_differs"] == 0.0


def test_likeness_is_that_of_the_nearest_text_in_each_half() -> None:
    account, lines = np.eye(DIMS, dtype=np.float32)[[1, 0]]
    pairs = catalogue(entry("a"), entry("b")).pairs(report("x"), np.concatenate([account, lines]), {})
    assert [numbers(pairs, id)["like_account"] for id in ("a", "b")] == [0.0, 1.0]
    assert [numbers(pairs, id)["like_lines"] for id in ("a", "b")] == [1.0, 0.0]


def test_the_entry_with_the_most_words_in_common_is_marked() -> None:
    texts = {"a": "bucket gradient hook unused parameter", "b": "disk full checkpoint"}
    known = catalogue(entry("a"), entry("b"), texts=texts)
    pairs = known.pairs(report("The gradient bucket waits for an unused parameter."), BARE, {})
    assert [numbers(pairs, id)["most_words"] for id in ("a", "b")] == [1.0, 0.0]
    assert numbers(pairs, "a")["words"] > numbers(pairs, "b")["words"]
    nothing = known.pairs(report("Qqq."), BARE, {})
    assert [numbers(nothing, id)["most_words"] for id in ("a", "b")] == [0.0, 0.0]


def test_a_probable_symptom_speaks_for_its_entries() -> None:
    known = catalogue(entry("a", symptom=("B.1", "B.2")), entry("b", symptom=("D.2.1",)))
    pairs = known.pairs(report("x"), BARE, {"B.1": 0.5, "B.2": 0.3, "D.2.1": 0.2})
    assert numbers(pairs, "a")["symptom"] == pytest.approx(np.log(0.82))
    assert numbers(pairs, "b")["symptom"] == pytest.approx(np.log(0.22))


def test_an_entry_newer_than_the_training_is_neither_near_nor_far_and_found_by_its_line() -> None:
    newer = entry("newer", patterns=("frobnicate failed",))
    known = catalogue(entry("a"), entry("b"), newer=(newer,))
    like_a = np.concatenate([np.eye(DIMS, dtype=np.float32)[0]] * 2)
    pairs = known.pairs(report("```\nRuntimeError: frobnicate failed\n```"), like_a, {})
    found = numbers(pairs, "newer")
    assert found["line_in_log"] == 1.0
    assert found["like_account"] == pytest.approx(0.5)
    assert np.isfinite(pairs.values).all()


def test_an_entry_with_a_line_is_a_candidate_however_unlike_it_is() -> None:
    others = [entry(f"e{n}") for n in range(CANDIDATES + 5)]
    ids = [e.id for e in others]
    from embeddings.lexical import LexicalIndex
    from knowledge.findings.pairs import Catalogue, Profiles

    told = entry("told", patterns=("frobnicate failed",))
    rows = np.arange(len(ids) + 1, dtype=np.int32)
    vectors = np.tile(np.eye(DIMS, dtype=np.float32)[0], (len(ids) + 1, 1))
    vectors[-1] *= -1
    profiles = Profiles((*ids, "told"), rows, vectors, LexicalIndex.build(ids, ids))
    known = Catalogue({e.id: e for e in (*others, told)}, profiles, {})
    like = np.concatenate([np.eye(DIMS, dtype=np.float32)[0]] * 2)
    with_line = known.pairs(report("```\nRuntimeError: frobnicate failed\n```"), like, {})
    without = known.pairs(report("Nothing."), like, {})
    assert "told" in with_line.ids
    assert "told" not in without.ids
    assert (len(with_line.ids), len(without.ids)) == (CANDIDATES + 1, CANDIDATES)
    assert with_line.values.shape == (CANDIDATES + 1, len(NAMES))
