"""P(same failure) is right about as often as it says, by numbers of pairs that teach the verifier; no text ships."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from knowledge.history.calibration import Calibration, calibration, pairs_of
from knowledge.history.learner import Prediction, fit_pairs
from knowledge.history.verifier import VERIFIED, WORTH_READING, load_weights, sigmoid

PAIRS = Path(__file__).parent / "verified_pairs.npz"
"""The two best candidates of each report of Hadoop; `python -m knowledge.training.history --pairs FILE` makes it."""
FOLDS = 10
Array = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def pairs() -> tuple[Array, npt.NDArray[np.bool_], npt.NDArray[np.int32]]:
    with np.load(PAIRS) as held:
        return held["seen"].astype(float), held["same"], held["group"]


def measured(p: Array, same: npt.NDArray[np.bool_]) -> Calibration:
    found = calibration(p, same)
    assert found is not None
    return found


def holds(found: Calibration) -> bool:
    return (
        found.error() <= 0.015 and found.error(WORTH_READING) <= 0.12 and found.loss <= 0.6 * found.base_loss
    )


def test_the_shipped_verifier_is_calibrated(
    pairs: tuple[Array, npt.NDArray[np.bool_], npt.NDArray[np.int32]],
) -> None:
    seen, same, _ = pairs
    assert seen.shape == (len(same), len(VERIFIED)), f"made for other numbers: make {PAIRS.name} again"
    p = load_weights().probabilities(seen)
    assert holds(measured(p, same))
    assert not holds(measured(np.sqrt(p), same)), "too sure"
    assert not holds(measured(p**2, same)), "too careful"


def test_so_is_one_that_never_saw_the_report_s_group(
    pairs: tuple[Array, npt.NDArray[np.bool_], npt.NDArray[np.int32]],
) -> None:
    seen, same, group = pairs
    p = np.zeros(len(same))
    for fold in range(FOLDS):
        out = group % FOLDS == fold
        p[out] = sigmoid(seen[out] @ fit_pairs(seen[~out], same[~out]))
    assert holds(measured(p, same))


def test_bins_error_and_loss() -> None:
    p = np.array([0.01, 0.01, 0.5, 0.5, 0.9, 0.9])
    same = np.array([False, False, True, False, True, True])
    found = measured(p, same)
    assert [(one.pairs, one.right, one.mean) for one in found.bins] == [
        (2, 0, pytest.approx(0.01)),
        (2, 1, pytest.approx(0.5)),
        (2, 2, pytest.approx(0.9)),
    ]
    assert found.error() == pytest.approx((0.01 + 0 + 0.1) / 3)
    assert found.error(0.4) == pytest.approx(0.05)
    assert found.base_loss == pytest.approx(np.log(2))
    assert found.loss < found.base_loss
    assert calibration(p, np.zeros(6, bool)) is None


def test_pairs_come_from_all_predictions() -> None:
    yes = np.array([True])
    one = Prediction(1, np.array([0.7]), yes, yes, True)
    p, same = pairs_of([one, Prediction(None, np.zeros(0), ~yes[:0], ~yes[:0], False)])
    assert (p.tolist(), same.tolist()) == ([0.7], [True])
    assert pairs_of([])[0].size == 0
