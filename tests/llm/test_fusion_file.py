"""Fusion weights as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from knowledge.errors import DataError
from knowledge.judging.axes import JUDGED
from knowledge.triage import AXES
from llm.fusion import SHIPPED, as_toml, load_weights


def test_the_shipped_weights_say_what_they_were_fitted_on() -> None:
    shipped = load_weights()
    assert shipped.provenance["cases"] == 338
    assert "human labels" in str(shipped.provenance["how"])
    assert set(shipped.local) == set(shipped.account) == set(JUDGED)
    assert set(shipped.ranking) == set(shipped.places) == set(AXES)


@pytest.mark.parametrize("places", ["[1.0, 0.0]", "[0.5, 0.4]"])
def test_places_that_are_no_shares_are_refused(tmp_path: Path, places: str) -> None:
    text = SHIPPED.read_text().partition("[places]")[0] + f"[places]\nfix = {places}\n"
    (tmp_path / "w.toml").write_text(text)
    with pytest.raises(DataError, match="aren't valid shares"):
        load_weights(tmp_path / "w.toml")


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
