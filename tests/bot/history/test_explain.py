"""Why, and how it ended: sentences without a percentage or a verdict."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.history.explain import how_it_ended, version_of, why
from bot.history.records import KeptIssue, Outcome
from knowledge.evidence.facts_table import component_of_tracker
from knowledge.findings.failure import load_catalogue
from knowledge.history.verifier import Shared

NOW = datetime(2026, 1, 2, tzinfo=UTC)
FIXED = Outcome(False, "closed", "completed", NOW, "#1301")
NOTHING = Shared((), (), "", "", (), False, {}, {}, (), "", "")


def kept(outcome: Outcome, id: str = "12") -> KeptIssue:
    return KeptIssue(id, "t", "", "h", NOW, outcome, None)


def ended(outcome: Outcome, *firsts: Outcome, **versions: str) -> tuple[str, bool]:
    chain = [kept(first, str(3 - n)) for n, first in enumerate(firsts)]
    return how_it_ended(kept(outcome), "torch", versions, chain)


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome(True, "open"), "still open"),
        (Outcome(True, "open", others=1), "still open; 1 other person commented"),
        (Outcome(True, "open", others=7), "still open; 7 other people commented"),
        (Outcome(True, ""), ""),
        (FIXED, "closed by `#1301`"),
        (replace(FIXED, closed_by=""), "closed as completed on 2026-01-02"),
        (Outcome(False, "closed", "", NOW), "closed on 2026-01-02"),
        (Outcome(False, "Resolved"), "resolved"),
        (Outcome(False), "closed"),
        (replace(FIXED, released="v0.9.2"), "closed by `#1301`, released in 0.9.2"),
        (replace(FIXED, released="nightly"), "closed by `#1301`, released in `nightly`"),
        (Outcome(False, "closed", "not_planned", NOW), "closed as not planned"),
        (
            Outcome(False, "closed", "not_planned", NOW, why="not_reproduced"),
            "closed as not planned: could not be reproduced",
        ),
        (Outcome(False, "closed", "not_planned", NOW, duplicates=("3",)), "closed as a duplicate of `#3`"),
        (replace(FIXED, duplicates=("3",)), "closed by `#1301`"),
        (Outcome(True, "open", duplicates=("3",)), "still open"),
        (Outcome(False, "Resolved", "Cannot Reproduce"), "resolved as cannot reproduce"),
        (Outcome(False, "closed", "duplicate", NOW), "closed as duplicate"),
        (Outcome(False, "closed", "duplicate", NOW, duplicates=("3",)), "closed as a duplicate of `#3`"),
    ],
)
def test_how_it_ended(outcome: Outcome, told: str) -> None:
    assert ended(outcome) == (told, False)


def test_the_release_is_compared_with_the_reports_own_version() -> None:
    fixed = replace(FIXED, released="v0.9.2")
    assert ended(fixed, torch="0.9.1+cu121") == (
        "closed by `#1301`, released in 0.9.2; you are on 0.9.1+cu121",
        False,
    )
    for version in ("0.9.2", "0.10.0+cu121"):
        told, regression = ended(fixed, torch=version)
        assert regression and told.endswith(
            f"you are on {version}, which should already have the fix, so this may be a regression"
        )
    for version in ("0.9.2.dev20260101", "0.9.2rc1", "main"):
        assert not ended(fixed, torch=version)[1], "not surely after the release"
    assert not ended(fixed, cuda="12.1")[1]


def test_a_duplicate_says_how_the_first_one_ended() -> None:
    twice = Outcome(False, "closed", "duplicate", NOW, duplicates=("3",))
    assert ended(twice, FIXED)[0] == "closed as a duplicate of `#3` (closed by `#1301`)"
    assert ended(twice, Outcome(True, "open"))[0] == "closed as a duplicate of `#3`, which is still open"
    assert ended(twice, twice)[0] == "closed as a duplicate of `#3`", "marks may go in circles"
    again = replace(twice, reason="completed", duplicates=("2",))
    assert (
        ended(twice, again, FIXED)[0]
        == "closed as a duplicate of `#3`, itself one of `#2` (closed by `#1301`)"
    )
    assert ended(twice, Outcome(False, "closed", "not_planned", NOW, why="intended"))[0] == (
        "closed as a duplicate of `#3` (closed as not planned: works as intended)"
    )
    assert ended(twice, replace(FIXED, released="1.0"), torch="1.2")[1]


def test_a_duplicate_of_an_issue_whose_state_is_not_known_says_no_more() -> None:
    again = Outcome(False, "closed", duplicates=("3",))
    assert ended(again, Outcome(True))[0] == "closed as a duplicate of `#3`"


def test_why_names_the_most_telling_first() -> None:
    shared = replace(
        NOTHING,
        signatures=("nccl-timeout",),
        exception="RuntimeError",
        frames=("a.py:f", "b.py:`g"),
        innermost=True,
        versions={"python": "3.11", "cuda": "12.1", "torch": "2.4.0"},
        differ={"nccl": ("2.20", "2.18")},
        words=("rare",),
    )
    assert why(shared) == [
        "same error signature (`nccl-timeout`)",
        "both raise `RuntimeError`",
        "same innermost frames (`a.py:f`, `b.py:'g`)",
        "both on torch 2.4.0 and cuda 12.1",
        "nccl 2.20 here, 2.18 there",
    ]
    assert why(replace(shared, innermost=False, signatures=(), line="x"))[:3] == [
        "both raise `RuntimeError`",
        "same error line",
        "frames in common (`a.py:f`, `b.py:'g`)",
    ]
    assert why(replace(shared, title="test"))[1] == "the same test in both titles"
    assert why(replace(NOTHING, title="subject", words=("rare",))) == ["nearly the same title"]
    assert why(replace(NOTHING, words=("rare", "word"))) == ["both mention `rare`, `word`"]
    assert why(replace(NOTHING, failures=("no-such-entry",), versions={"torch": "2.4"})) == [
        "both on torch 2.4"
    ]


def test_the_component_that_a_repository_releases() -> None:
    assert component_of_tracker("pytorch/pytorch") == "torch"
    assert component_of_tracker("deepspeedai/DeepSpeed") == "deepspeed"
    assert component_of_tracker("acme/train") is None


@pytest.mark.parametrize(
    ("tag", "version"),
    [
        ("v0.9.2", "0.9.2"),
        ("0.9.2", "0.9.2"),
        ("release-1.4.0", "1.4.0"),
        ("ray-2.9.0", "2.9.0"),
        ("pkg@1.0", "1.0"),
        ("v1.0.0-rc1", "1.0.0-rc1"),
        ("nightly", ""),
        ("ciflow/trunk/12", ""),
        ("2024", ""),
    ],
)
def test_the_version_in_a_tag(tag: str, version: str) -> None:
    assert version_of(tag) == version


def test_a_known_failure_says_more_than_its_signature() -> None:
    known = next(iter(load_catalogue().values()))
    shared = replace(NOTHING, failures=(known.id,), signatures=("nccl-timeout",))
    assert why(shared) == [f"same known failure ({known.title})"]
