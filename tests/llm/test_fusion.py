"""Local judgement and second reader into one distribution."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.judging.axes import JUDGED, Judged
from knowledge.judging.judge import Judgement
from llm.fusion import FusionWeights, fuse, load_weights, ranking_scores, trust

IDS = ("A", "B", "C", "D")
weights = st.lists(st.floats(1e-6, 1.0), min_size=4, max_size=4)
rankings = st.permutations(IDS).flatmap(lambda ids: st.integers(1, 4).map(lambda n: ids[:n]))


def judged(*p: float) -> dict[Judged, Judgement]:
    value = np.array(p) / sum(p)
    return {"stage": Judgement(IDS, value, threshold=0.5, mass=0.9)}


@given(weights, rankings)
def test_a_fused_axis_is_a_distribution_over_the_same_ids(p: list[float], ranking: list[str]) -> None:
    fused = fuse(judged(*p), None, {"stage": ranking}, load_weights())["stage"]
    assert fused.ids == IDS
    assert fused.p.sum() == pytest.approx(1)
    assert (fused.p > 0).all()


@given(weights, rankings)
def test_the_first_choice_falls_behind_none_that_it_was_ahead_of(p: list[float], ranking: list[str]) -> None:
    before = judged(*p)["stage"].p
    after = fuse(judged(*p), None, {"stage": ranking}, load_weights())["stage"].p
    first = IDS.index(ranking[0])
    assert all(after[first] >= after[k] - 1e-12 for k in range(4) if before[first] >= before[k])


def test_one_odd_ranking_does_not_overturn_a_clear_local_answer() -> None:
    fused = fuse(judged(0.94, 0.02, 0.02, 0.02), None, {"stage": ["B", "C", "D", "A"]}, load_weights())
    assert fused["stage"].answer == ["A"]


def test_a_close_call_is_settled() -> None:
    fused = fuse(judged(0.40, 0.36, 0.12, 0.12), None, {"stage": ["B", "A", "C"]}, load_weights())
    assert fused["stage"].ranking[0][0] == "B"


AXES_OF_FOUR = ("type", "stage", "symptom", "cause", "fix")
SURE = (0.85, 0.05, 0.05, 0.05)


def everywhere(p: tuple[float, ...]) -> dict[Judged, Judgement]:
    return {axis: judged(*p)["stage"] for axis in AXES_OF_FOUR}


def test_a_model_that_agrees_elsewhere_is_heard_where_it_differs() -> None:
    local = everywhere(SURE) | {"symptom": judged(0.55, 0.35, 0.05, 0.05)["stage"]}
    rankings: dict[Judged, tuple[str, ...]] = dict.fromkeys(AXES_OF_FOUR, ("A", "B", "C", "D"))
    rankings["symptom"] = ("B", "A", "C", "D")
    assert trust(local, rankings, load_weights()) > 0.85
    assert fuse(local, None, rankings, load_weights())["symptom"].ranking[0][0] == "B"


def test_rankings_by_lot_leave_the_local_judgement_where_it_was() -> None:
    draw = np.random.default_rng(7)
    local, moved = everywhere(SURE), []
    for _ in range(300):
        rankings: dict[Judged, list[str]] = {axis: list(draw.permutation(IDS)) for axis in AXES_OF_FOUR}
        fused = fuse(local, None, rankings, load_weights())
        moved += [fused[axis].ranking[0][0] != "A" for axis in AXES_OF_FOUR]
    assert np.mean(moved) < 0.01


def test_a_model_that_was_measured_needs_no_trust() -> None:
    measured = replace(load_weights(), places={})
    assert trust(everywhere(SURE), {"stage": ("D", "C", "B", "A")}, measured) == 1.0


def test_an_axis_without_ranking_stays_as_it_is() -> None:
    local = judged(0.4, 0.3, 0.2, 0.1)
    assert fuse(local, None, {"stage": []}, load_weights()) == local


def test_ids_not_ranked_share_the_place_after_the_last() -> None:
    np.testing.assert_allclose(ranking_scores(IDS, ["C", "A"]), -np.log([2, 3, 1, 3]))


def test_an_account_that_agrees_makes_nothing_surer() -> None:
    local = judged(0.7, 0.1, 0.1, 0.1)
    fused = fuse(local, local, {}, load_weights())["stage"]
    np.testing.assert_allclose(fused.p, local["stage"].p)


def test_an_account_counts_by_its_share() -> None:
    local, account = judged(0.7, 0.1, 0.1, 0.1), judged(0.1, 0.7, 0.1, 0.1)
    none, every = dict.fromkeys(JUDGED, 0.0), dict.fromkeys(JUDGED, 1.0)
    fused = fuse(local, account, {}, FusionWeights(none, every, {}, {}))["stage"]
    np.testing.assert_allclose(fused.p, [0.1, 0.7, 0.1, 0.1])
    even = fuse(local, account, {}, load_weights())["stage"]
    assert even.p[0] == pytest.approx(even.p[1])


def test_without_an_account_the_local_judgement_stands_for_it() -> None:
    local = judged(0.7, 0.1, 0.1, 0.1)
    ranked: dict[Judged, list[str]] = {"stage": ["A", "B", "C", "D"]}
    weights = load_weights()
    without, with_same = (fuse(local, account, ranked, weights)["stage"].p for account in (None, local))
    np.testing.assert_allclose(without, with_same)


def test_fitted_thresholds_hold_for_what_was_fused_alone() -> None:
    shipped = load_weights()
    weights = FusionWeights(
        shipped.local, shipped.account, shipped.ranking, {}, {"stage": 0.95}, {"stage": 0.99}
    )
    local = judged(0.7, 0.1, 0.1, 0.1)
    fused = fuse(local, None, {"stage": ["A", "B"]}, weights)["stage"]
    assert (fused.threshold, fused.mass, fused.answer) == (0.95, 0.99, [])
    assert fuse(local, None, {}, weights)["stage"].answer == ["A"]
