"""Local judgement and second reader into one distribution."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.llm.fit_fusion import FitRow, fit, write
from bot.llm.fusion import FusionWeights, fuse_account, fuse_ranking, load_weights, ranking_scores
from knowledge.errors import DataError
from knowledge.judging.axes import JUDGED, Judged
from knowledge.judging.judge import Judgement
from knowledge.triage import AXES

IDS = ("A", "B", "C", "D")
weights = st.lists(st.floats(1e-6, 1.0), min_size=4, max_size=4)
rankings = st.permutations(IDS).flatmap(lambda ids: st.integers(1, 4).map(lambda n: ids[:n]))


def judged(*p: float) -> dict[Judged, Judgement]:
    value = np.array(p) / sum(p)
    return {"stage": Judgement(IDS, value, threshold=0.5, mass=0.9)}


@given(weights, rankings)
def test_a_fused_axis_is_a_distribution_over_the_same_ids(p: list[float], ranking: list[str]) -> None:
    fused = fuse_ranking(judged(*p), {"stage": ranking}, load_weights())["stage"]
    assert fused.ids == IDS
    assert fused.p.sum() == pytest.approx(1)
    assert (fused.p > 0).all()


@given(weights, rankings)
def test_the_first_choice_never_loses_against_those_behind(p: list[float], ranking: list[str]) -> None:
    before = judged(*p)["stage"]
    after = fuse_ranking(judged(*p), {"stage": ranking}, load_weights())["stage"]
    first = IDS.index(ranking[0])
    assert after.p[first] >= before.p[first] - 1e-12


def test_a_clear_local_answer_is_not_overturned_by_the_shipped_weights() -> None:
    fused = fuse_ranking(judged(0.70, 0.1, 0.1, 0.1), {"stage": ["B", "C", "D", "A"]}, load_weights())
    assert fused["stage"].answer == ["A"]


def test_a_close_call_is_settled() -> None:
    fused = fuse_ranking(judged(0.40, 0.36, 0.12, 0.12), {"stage": ["B", "A", "C"]}, load_weights())
    assert fused["stage"].ranking[0][0] == "B"


def test_an_axis_without_ranking_stays_as_it_is() -> None:
    local = judged(0.4, 0.3, 0.2, 0.1)
    assert fuse_ranking(local, {"stage": []}, load_weights()) == local


def test_ids_not_ranked_share_the_place_after_the_last() -> None:
    np.testing.assert_allclose(ranking_scores(IDS, ["C", "A"]), -np.log([2, 3, 1, 3]))


def test_an_account_that_agrees_makes_nothing_surer() -> None:
    local = judged(0.7, 0.1, 0.1, 0.1)
    fused = fuse_account(local, local, load_weights())["stage"]
    np.testing.assert_allclose(fused.p, local["stage"].p)


def test_an_account_counts_by_its_share() -> None:
    shipped = load_weights()
    all_of_it = FusionWeights({**shipped.account, "stage": 1.0}, shipped.ranking, {})
    fused = fuse_account(judged(0.7, 0.1, 0.1, 0.1), judged(0.1, 0.7, 0.1, 0.1), all_of_it)["stage"]
    np.testing.assert_allclose(fused.p, [0.1, 0.7, 0.1, 0.1])


def test_the_shipped_weights_say_that_they_were_not_fitted() -> None:
    shipped = load_weights()
    assert shipped.provenance["cases"] == 0
    assert "not fitted" in str(shipped.provenance["how"])
    assert set(shipped.account) == set(JUDGED)
    assert set(shipped.ranking) == set(AXES)


@pytest.mark.parametrize(
    "text",
    ["", "[account]\nstage = 1", "not toml ["],
)
def test_a_file_without_weights_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "w.toml").write_text(text)
    with pytest.raises(DataError):
        load_weights(tmp_path / "w.toml")


def test_a_weight_out_of_range_is_refused(tmp_path: Path) -> None:
    shipped = load_weights()
    write(FusionWeights({**shipped.account, "fix": 2.0}, shipped.ranking, {}), tmp_path / "w.toml")
    with pytest.raises(DataError, match="out of range"):
        load_weights(tmp_path / "w.toml")


def rows(trust: float, count: int = 200) -> list[FitRow]:
    """Local judgements that know little; rankings whose first choice is right in a share `trust`."""
    random = np.random.default_rng(7)
    out = []
    for _ in range(count):
        right = str(random.choice(IDS))
        first = right if random.random() < trust else str(random.choice(IDS))
        local = judged(*(random.random(4) + 0.5))
        ranking = [first, *(id_ for id_ in IDS if id_ != first)]
        out.append(FitRow(local, local, {"stage": ranking}, {"stage": [right]}))
    return out


def test_a_model_that_is_right_gets_more_weight_than_one_that_guesses() -> None:
    good = fit(rows(0.9), load_weights(), {"how": "test"})
    guessing = fit(rows(0.0), load_weights(), {"how": "test"})
    assert good.ranking["stage"] > 1.5
    assert guessing.ranking["stage"] < 0.3
    assert good.ranking["fix"] == load_weights().ranking["fix"]  # no rows: as it was


def test_too_few_cases_leave_the_weights_alone() -> None:
    assert fit(rows(0.9, count=20), load_weights(), {}).ranking == load_weights().ranking


def test_fitted_weights_are_read_back(tmp_path: Path) -> None:
    fitted = fit(rows(0.9), load_weights(), {"how": 'fitted on "x"', "cases": 200})
    write(fitted, tmp_path / "w.toml")
    assert load_weights(tmp_path / "w.toml") == fitted
