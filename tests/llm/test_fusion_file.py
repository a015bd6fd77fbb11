"""Fusion weights as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from knowledge.errors import DataError
from knowledge.judging.axes import JUDGED
from knowledge.triage import AXES
from llm.fusion_file import as_toml, load_weights


def test_the_shipped_weights_say_that_they_were_not_fitted() -> None:
    shipped = load_weights()
    assert shipped.provenance["cases"] == 0
    assert "not fitted" in str(shipped.provenance["how"])
    assert set(shipped.local) == set(shipped.account) == set(JUDGED)
    assert set(shipped.ranking) == set(AXES)
    assert (shipped.threshold, shipped.mass) == ({}, {})


def test_the_shipped_weights_leave_an_axis_as_sure_as_it_was() -> None:
    shipped = load_weights()
    assert [shipped.local[axis] + shipped.account[axis] for axis in JUDGED] == pytest.approx([1.0] * 7)


@pytest.mark.parametrize(
    "text",
    ["", "[account]\nstage = 1", "not toml ["],
)
def test_a_file_without_weights_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "w.toml").write_text(text)
    with pytest.raises(DataError):
        load_weights(tmp_path / "w.toml")


@pytest.mark.parametrize("weight", [-0.1, 10.5, float("nan")])
def test_a_weight_out_of_range_is_refused(tmp_path: Path, weight: float) -> None:
    shipped = load_weights()
    odd = replace(shipped, account={**shipped.account, "fix": weight})
    (tmp_path / "w.toml").write_text(as_toml(odd).replace("NaN", "nan"))
    with pytest.raises(DataError, match="out of range"):
        load_weights(tmp_path / "w.toml")


def test_fitted_weights_are_read_back(tmp_path: Path) -> None:
    provenance = {"how": 'fitted on "x"', "cases": 200, "duties": ["reader"]}
    fitted = replace(load_weights(), provenance=provenance, threshold={"stage": 0.5}, mass={"stage": 0.9})
    (tmp_path / "w.toml").write_text(as_toml(fitted, {"decision": {"use": True}}))
    assert load_weights(tmp_path / "w.toml") == fitted
