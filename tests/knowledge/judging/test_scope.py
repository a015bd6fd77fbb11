"""The gate before the judge: its head, its border and its file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from knowledge.errors import ModelError
from knowledge.evidence import read_report
from knowledge.judging.features import Features, featurise
from knowledge.judging.scope import (
    BARE_LOG,
    KNOWN_REPOSITORY,
    ScopeHead,
    counts_as_named,
    load_scope,
    save_scope,
    scope_by,
)
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from knowledge.training.train import ScopeItem, border, learn_scope, other_field_records
from tests.embeddings.fake_encoder import FakeEncoder

TABLE = SignatureTable()
ENCODER = FakeEncoder(dims=384)
OURS = "Horovod allreduce hangs between gpus while training with NCCL"
OTHERS = "The button of the web page has a wrong colour in the browser"


def features(title: str) -> Features:
    return featurise([read_report(Report("a/b#1", title, title), TABLE)], ENCODER)[0]


@pytest.fixture(scope="module")
def items() -> list[ScopeItem]:
    numbers = ("one", "two", "three", "four", "five", "six", "seven", "eight")
    ours = [ScopeItem(f"o/r#{n}", features(f"{OURS} {word}"), True, True) for n, word in enumerate(numbers)]
    others = [
        ScopeItem(f"kind{n}", features(f"{OTHERS} {word}"), False, False) for n, word in enumerate(numbers)
    ]
    return [*ours, *others]


@pytest.fixture(scope="module")
def head(items: list[ScopeItem]) -> ScopeHead:
    return learn_scope(items, {"by": "test"})[0]


def test_the_head_tells_the_field_from_others(head: ScopeHead) -> None:
    assert (
        head.score(features(f"{OURS} again"), named=True)
        > 0.5
        > head.score(features(f"{OTHERS} again"), named=True)
    )


def test_held_out_scores_come_from_a_head_without_the_group(items: list[ScopeItem]) -> None:
    _, held_out = learn_scope(items, {})
    assert held_out[:8].min() > held_out[8:].max()
    one_group = [ScopeItem("same", i.features, i.ours, i.sets) for i in items]
    assert np.ptp(learn_scope(one_group, {})[1]) < 1e-6


def test_the_border_turns_few_of_the_fields_own_away(items: list[ScopeItem]) -> None:
    scores = np.linspace(0, 1, len(items))
    at = border(items, scores)
    assert sum(score < at for item, score in zip(items, scores, strict=True) if item.sets) <= 1


def test_a_framework_counts_when_the_text_names_it() -> None:
    unnamed = read_report(Report("a/b#1", "It hangs on two machines", "The job hangs after an hour."), TABLE)
    told = read_report(
        Report("a/b#1", "It hangs on two machines", "The Horovod job hangs after an hour."), TABLE
    )
    on_tpus = read_report(Report("a/b#1", "It hangs", "The torch_xla job hangs after an hour."), TABLE)
    by_repository = read_report(Report("horovod/horovod#1", "It hangs", "The job hangs."), TABLE)
    bare = read_report(Report("x.log", "", "ERROR: job cancelled", is_log=True), TABLE)
    assert [counts_as_named(one) for one in (unnamed, told, on_tpus, by_repository, bare)] == [
        False,
        True,
        True,
        False,
        True,
    ]


def test_an_error_of_our_machinery_in_a_log_opens_the_gate(head: ScopeHead) -> None:
    line = "[rank0]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9) ran for 600100 milliseconds"
    reading = read_report(Report("a/b#1", OTHERS, f"{OTHERS}\n\n```\n{line}\n```"), TABLE)
    assert head.scope(reading, reading, featurise([reading], ENCODER)[0]) == "ours"


def test_a_bare_log_must_look_less_like_the_field() -> None:
    bare = read_report(Report("x.log", "", "step 100 loss 3.1\nERROR: job cancelled", is_log=True), TABLE)
    told = read_report(
        Report("a/b#1", "Job cancelled by the scheduler", "step 100 loss 3.1 and then it ended"), TABLE
    )
    below = 1 - BARE_LOG / 2
    assert scope_by(below, 1.0, bare, silent=False, known=False) == "ours"
    assert scope_by(below, 1.0, told, silent=False, known=False) == "other_field"


def test_a_known_repository_must_look_less_like_the_field(head: ScopeHead) -> None:
    reading = read_report(Report("horovod/horovod#1", OTHERS, OTHERS), TABLE)
    given = featurise([reading], ENCODER)[0]
    score = head.score(given, named=False)
    near = replace(head, threshold=score + KNOWN_REPOSITORY / 2)
    assert near.scope(reading, reading, given) == "ours"
    unknown = read_report(Report("some/thing#1", OTHERS, OTHERS), TABLE)
    assert near.scope(unknown, unknown, given) == "other_field"


def test_a_stored_head_scores_the_same(head: ScopeHead, tmp_path: Path) -> None:
    save_scope(head, tmp_path / "scope.npz")
    again = load_scope(tmp_path / "scope.npz")
    assert again.score(features(OURS), named=True) == pytest.approx(
        head.score(features(OURS), named=True), abs=0.01
    )
    assert again.threshold == head.threshold
    assert again.about == {"by": "test"}


def test_a_damaged_file_is_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "scope.npz").write_bytes(b"PK nonsense")
    with pytest.raises(ModelError, match="Can't read") as caught:
        load_scope(tmp_path / "scope.npz")
    assert "make train" in str(caught.value.remedy)


def test_the_shipped_posts_of_other_fields_are_many_and_all_different() -> None:
    records = other_field_records()
    assert sum(record.source == "other_field" for record in records) >= 300
    assert len({(r.report.title, r.report.body) for r in records}) == len(records)
    assert {record.source for record in records} == {"other_field", "too_little", "unreadable"}
