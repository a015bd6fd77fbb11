"""The learner's arithmetic, against the slow and obvious way."""

from __future__ import annotations

import numpy as np
import pytest

from knowledge.judging.calibrate import (
    answer_set_size,
    combine,
    fit_mass,
    fit_threshold,
    fit_weights,
    lower_bound,
    softmax,
)
from knowledge.judging.learner import fit_ridge, invert

RNG = np.random.default_rng(5)


def problem(n: int = 40, classes: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    x = RNG.normal(size=(n, 6))
    targets = np.eye(classes)[RNG.integers(0, classes, n)]
    return x @ x.T, targets, RNG.uniform(0.5, 1.5, n), [f"g{i // 2}" for i in range(n)]


def test_held_out_scores_equal_refitting_without_the_group() -> None:
    gram, targets, weights, groups = problem()
    fit = fit_ridge(invert(gram, weights, 0.7), targets, weights, groups)
    out = [i for i, g in enumerate(groups) if g == "g3"]
    rest = [i for i in range(len(groups)) if i not in out]
    regularised = gram[np.ix_(rest, rest)] + 0.7 * np.diag(1 / weights[rest])
    alpha = np.linalg.solve(regularised, targets[rest] - fit.prior)
    refitted = fit.prior + gram[np.ix_(out, rest)] @ alpha
    np.testing.assert_allclose(fit.held_out[out], refitted, atol=1e-8)


def test_weights_recover_the_scale_that_made_the_labels() -> None:
    scores = RNG.normal(size=(4000, 5))
    p = softmax(3.0 * scores)
    labels = np.array([RNG.choice(5, p=row) for row in p])
    (weight,) = fit_weights([scores], np.eye(5)[labels], [1.0])
    assert weight == pytest.approx(3.0, rel=0.1)


def test_threshold_reaches_its_target_or_never_answers() -> None:
    p = np.array([[0.9, 0.1]] * 40 + [[0.6, 0.4]] * 40)
    hits = np.array([[1, 0]] * 40 + [[0, 1]] * 40, float)
    assert fit_threshold(p, hits, 0.9) == pytest.approx(0.9)
    assert fit_threshold(p, 1 - hits, 0.99) > 1


def test_a_lucky_cut_is_no_threshold() -> None:
    p = np.array([[0.9, 0.1]] * 20)
    hits = np.array([[1, 0]] * 18 + [[0, 1]] * 2, float)
    assert fit_threshold(p, hits, 0.9) > 1


def test_what_is_claimed_keeps_its_precision_on_new_reports() -> None:
    kept = []
    for _ in range(200):
        confidence = RNG.uniform(0.5, 1.0, (2, 150))
        right = RNG.uniform(size=(2, 150)) < confidence - 0.1
        p = np.stack([confidence[0], 1 - confidence[0]], axis=1)
        threshold = fit_threshold(p, np.stack([right[0], ~right[0]], axis=1).astype(float), 0.8)
        claimed = confidence[1] >= threshold
        kept += [right[1][claimed]]
    assert np.concatenate(kept).mean() >= 0.8


def test_the_lower_bound_is_wilsons() -> None:
    # Wilson's interval of 9 in 10 at 90 %: 0.652 to 0.978.
    assert lower_bound(np.array([0.9]), np.array([10]), z=1.645)[0] == pytest.approx(0.652, abs=0.002)


def test_answer_sets_hold_the_target_share() -> None:
    scores = RNG.normal(size=(2000, 6))
    p = softmax(scores)
    hits = np.eye(6)[[RNG.choice(6, p=row) for row in p]]
    mass = fit_mass(p, hits, 0.9)
    sizes = answer_set_size(p, mass)
    order = np.argsort(-p, axis=1)
    held = [hits[i, order[i, : sizes[i]]].any() for i in range(len(p))]
    assert 0.88 <= np.mean(held) <= 0.93


def test_combining_with_zero_weight_ignores_a_source() -> None:
    a, b = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4))
    np.testing.assert_allclose(combine([a, b], (1.0, 0.0)), softmax(a))
