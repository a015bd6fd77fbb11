"""Kernel ridge regression on indicator targets, with exact leave-group-out predictions.

Ridge rather than logistic regression: on some two thousand items and thirty classes the two rank alike here, and
ridge gives every held-out prediction in closed form, so that calibration never sees a fitted point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float32] | npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RidgeFit:
    """`alpha` (n, classes): dual weights; `prior` (classes,); `held_out` (n, classes): leave-group-out scores."""

    alpha: Array
    prior: Array
    held_out: Array


def invert(gram: Matrix, weights: Array, penalty: float) -> Matrix:
    """Inverse of the regularised Gram matrix, in its precision; the costly part, shared by axes of the same rows."""
    regularised = gram.copy()
    regularised[np.diag_indices_from(regularised)] += (penalty / weights).astype(gram.dtype)
    return np.linalg.inv(regularised)


def fit_ridge(inverse: Matrix, targets: Array, weights: Array, groups: Sequence[str]) -> RidgeFit:
    """Fit scores = prior + gram @ alpha; rows of `targets` (n, classes) sum to 1, `weights` (n,) are positive.

    Leaving a group out changes its residuals to inv(C_gg) @ alpha_g with C the inverse of the regularised Gram
    matrix (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, section 5.4.2).
    """
    prior = (targets * weights[:, None]).sum(axis=0) / weights.sum()
    alpha = inverse @ (targets - prior)
    held_out = np.empty_like(targets)
    members: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    for rows in members.values():
        residual = np.linalg.solve(inverse[np.ix_(rows, rows)], alpha[rows])
        held_out[rows] = targets[rows] - residual
    return RidgeFit(alpha, prior, held_out)
