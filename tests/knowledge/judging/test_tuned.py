"""The heads that were learned with the encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eval.benchmark import SHIPPED_SCORED
from knowledge.errors import ModelError
from knowledge.evidence import read_report
from knowledge.judging.axes import axis_ids
from knowledge.judging.tuned import LEAST, TunedHeads, load_heads, save_heads
from knowledge.signatures import SignatureTable
from knowledge.taxonomy import load_taxonomy
from knowledge.training.items import Learned
from knowledge.training.records import labelled_records, shipped_records

TAXONOMY = load_taxonomy()


def test_scores_are_log_probabilities_that_rule_nothing_out() -> None:
    weights = np.array([[30.0, 0.0, 0.0]], np.float32)
    (scores,) = TunedHeads({"stage": (weights, np.zeros(3, np.float32))}, {}).scores(
        "stage", np.array([[1.0], [0.0]], np.float32)
    )
    assert scores[0, 0] == pytest.approx(0, abs=1e-6)
    assert scores[0, 1] == LEAST
    np.testing.assert_allclose(np.exp(scores[1]), 1 / 3)


def test_an_axis_that_was_not_taught_has_no_opinion() -> None:
    assert TunedHeads({}, {}).scores("symptom", np.zeros((1, 4), np.float32)) == []


def test_heads_for_another_taxonomy_are_refused(tmp_path: Path) -> None:
    save_heads({"stage": (np.zeros((4, 2)), np.zeros(2), ("Y", "Z"))}, tmp_path / "heads.npz", {})  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="a different taxonomy"):
        load_heads(TAXONOMY, tmp_path / "heads.npz")


def test_an_id_added_since_gets_least_and_one_that_is_gone_is_dropped(tmp_path: Path) -> None:
    weights = np.array([[2.0, 0.0]], np.float32)
    save_heads({"stage": (weights, np.zeros(2, np.float32), ("B", "GONE"))}, tmp_path / "heads.npz", {})
    (scores,) = load_heads(TAXONOMY, tmp_path / "heads.npz").scores("stage", np.array([[1.0]], np.float32))
    ids = axis_ids(TAXONOMY, "stage")
    assert scores[0, ids.index("B")] == pytest.approx(0, abs=1e-6)
    assert all(scores[0, n] == LEAST for n, id_ in enumerate(ids) if id_ != "B")


def test_damaged_heads_are_told_with_their_remedy(tmp_path: Path) -> None:
    (tmp_path / "heads.npz").write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(ModelError) as told:
        load_heads(TAXONOMY, tmp_path / "heads.npz")
    assert "make tune" in told.value.remedy


def test_the_shipped_heads_know_every_id() -> None:
    heads = load_heads(TAXONOMY).heads
    assert set(heads) == {"type", "distributed", "stage", "symptom", "cause", "fix"}
    for axis, (weights, bias) in heads.items():
        assert weights.shape == (768, len(axis_ids(TAXONOMY, axis))) and bias.shape == weights.shape[1:]


def test_the_encoder_was_taught_no_case_that_is_scored() -> None:
    learned = Learned.of(load_heads(TAXONOMY).about["fingerprints"])
    table = SignatureTable()
    scored = [record for record in shipped_records() if record.source in SHIPPED_SCORED]
    assert len(scored) > 300
    known = [(r.report.id, why) for r in scored if (why := learned.knows(read_report(r.report, table)))]
    assert known == []


@pytest.mark.shared
def test_no_scored_real_report_was_taught_nor_a_near_duplicate(shared: Path) -> None:
    learned = Learned.of(load_heads(TAXONOMY).about["fingerprints"])
    table = SignatureTable()
    scored = labelled_records(shared / "real" / "labelled.jsonl")
    assert [r.report.id for r in scored if learned.knows(read_report(r.report, table))] == []
