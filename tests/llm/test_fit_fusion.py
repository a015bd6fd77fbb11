"""The weights of the fusion, fitted on simulated second readers of known quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from eval.compare import difference
from knowledge.judging.axes import Judged
from knowledge.judging.judge import Judgement
from llm.fit_fusion import LEAST, LOCAL, FitRow, fit, nested
from llm.fusion import FusionWeights, fuse, load_weights

IDS = tuple("ABCDEFGH")
CASES, FOLDS = 240, 6


def judged(p: np.ndarray) -> dict[Judged, Judgement]:
    return {"stage": Judgement(IDS, p / p.sum(), threshold=0.5, mass=0.9)}


def rows(trust: float, count: int = CASES, seed: int = 7) -> list[FitRow]:
    """Local judgements that are right about half of the time and calibrated; of the rankings' first choices `trust`
    are right, the others drawn by lot; the accounts repeat what the local judge knows.
    """
    random = np.random.default_rng(seed)
    out = []
    for n in range(count):
        p = random.dirichlet([0.35] * len(IDS)) + 1e-4
        right = str(random.choice(IDS, p=p / p.sum()))
        first = right if random.random() < trust else str(random.choice(IDS))
        rest = [str(id_) for id_ in random.permutation(IDS) if id_ != first]
        local = judged(p)
        ranking: Mapping[Judged, Sequence[str]] = {"stage": [first, *rest]}
        out.append(
            FitRow(f"r#{n}", f"fold {n % FOLDS}", f"group {n}", local, local, ranking, {"stage": [right]})
        )
    return out


def beside_local(simulated: list[FitRow]) -> tuple[np.ndarray, np.ndarray]:
    """Hits of the first id without and with the second reader, each case by weights of the other folds."""
    weights = nested(simulated, load_weights())
    both = [
        (row.local, fuse(row.local, row.account, row.rankings, weights[row.fold]), row.right["stage"])
        for row in simulated
    ]
    hits = np.array(
        [[judged["stage"].ranking[0][0] in right for judged in pair] for *pair, right in both], bool
    )
    return hits[:, 0], hits[:, 1]


def of_stage(weights: FusionWeights) -> tuple[float, float, float]:
    return weights.of("stage")


def test_a_good_second_reader_counts_much() -> None:
    weights = fit(rows(0.8), load_weights(), {})
    assert of_stage(weights)[2] > 1.0


def test_the_better_one_counts_more() -> None:
    counts = [of_stage(fit(rows(trust), load_weights(), {}))[2] for trust in (0.3, 0.6, 0.9)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] / 2


@pytest.mark.parametrize("seed", range(5))
def test_one_that_guesses_counts_nothing(seed: int) -> None:
    weights = fit(rows(0.0, seed=seed), load_weights(), {})
    assert of_stage(weights) == LOCAL
    assert (weights.threshold, weights.mass) == ({}, {})


def test_one_that_is_always_wrong_counts_nothing() -> None:
    contrary = [
        FitRow(r.id, r.fold, r.group, r.local, r.account, {"stage": wrong_first(r)}, r.right)
        for r in rows(0.0)
    ]
    assert of_stage(fit(contrary, load_weights(), {}))[2] == 0.0


def wrong_first(row: FitRow) -> list[str]:
    (right,) = row.right["stage"]
    return [*(id_ for id_ in IDS if id_ != right), right]


@pytest.mark.parametrize("trust", [0.0, 0.1, 0.2, 0.4, 0.8])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_with_a_second_reader_of_any_quality_nothing_is_significantly_worse(trust: float, seed: int) -> None:
    alone, together = beside_local(rows(trust, seed=seed))
    found = difference("stage", "top1", alone, together, [f"{n}" for n in range(len(alone))])
    assert found.high >= 0
    if trust >= 0.8:
        assert found.low > 0 and found.p < 0.001


def test_a_fold_s_weights_do_not_change_with_its_own_answers() -> None:
    """The figure that is told must not have used the answers that it is about."""
    simulated = rows(0.6)
    lying = [
        FitRow(r.id, r.fold, r.group, r.local, r.account, {"stage": wrong_first(r)}, r.right)
        if r.fold == "fold 0"
        else r
        for r in simulated
    ]
    honest, other = nested(simulated, load_weights()), nested(lying, load_weights())
    assert honest["fold 0"] == other["fold 0"]
    assert honest["fold 1"] != other["fold 1"]


def test_thresholds_are_fitted_with_the_weights() -> None:
    weights = fit(rows(0.8), load_weights(), {"how": "test"})
    assert 0 < weights.threshold["stage"] <= 1.01
    assert 0 < weights.mass["stage"] < 1
    assert weights.provenance == {"how": "test"}


def test_too_few_cases_leave_the_weights_as_they_were() -> None:
    few = fit(rows(0.9, count=LEAST - 1), load_weights(), {})
    assert (few.ranking, few.local) == (load_weights().ranking, load_weights().local)


def test_axes_without_answers_keep_their_weights() -> None:
    fitted = fit(rows(0.9), load_weights(), {})
    assert fitted.of("fix") == load_weights().of("fix")


def test_cases_on_which_the_llm_said_nothing_do_not_count() -> None:
    simulated = rows(0.8)
    silent = [
        FitRow(f"s{r.id}", r.fold, r.group, r.local, None, {}, r.right) for r in rows(0.8, count=100, seed=9)
    ]
    assert fit([*simulated, *silent], load_weights(), {}) == fit(simulated, load_weights(), {})
