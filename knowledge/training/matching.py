"""Learning the matcher from pairs of reports and entries, some of which apply, and how well that goes."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from knowledge.findings.matcher import LEAST as LEAST_SHOWN
from knowledge.findings.matcher import probability
from knowledge.findings.pairs import NAMES, Pairs
from knowledge.report import issue_of
from knowledge.training.reliability import Reliability, reliability

Array = npt.NDArray[np.float64]

TARGET_PRECISION = 0.90
"""Share of the findings shown unasked that must be right."""
PENALTY = 1.0
LEAST = 15
"""Findings needed on one side of a threshold before it says anything."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A report compared with its candidates, and which of all entries apply to it."""

    group: str
    """Reports of one group are left out together."""
    pairs: Pairs
    right: frozenset[str]
    weight: float
    real: bool
    """A report of a tracker or the benchmark, not one of our examples: thresholds are set by these alone."""
    silent: frozenset[str] = frozenset()
    """Candidates that are not said unasked, however probable (knowledge/findings/unasked.py)."""
    confirmed: tuple[str, ...] = ()
    """Known failures that a language model found to apply, without those that are not said all the same."""


def fit(reports: Sequence[Judged], rounds: int = 50) -> Array:
    """Weights that make right entries probable: penalised logistic regression by Newton's method."""
    values = np.concatenate([r.pairs.values for r in reports])
    hits = np.concatenate([[float(id in r.right) for id in r.pairs.ids] for r in reports])
    weight = np.concatenate([np.full(len(r.pairs.ids), r.weight) for r in reports])
    w = np.zeros(len(NAMES))
    penalty = np.diag([1e-6, *[PENALTY] * (len(NAMES) - 1)])
    for _ in range(rounds):
        p = probability(values, w)
        gradient = values.T @ (weight * (p - hits)) + penalty @ w
        spread = (values * (weight * p * (1 - p))[:, None]).T @ values + penalty
        step = np.linalg.solve(spread, gradient)
        w = w - step
        if np.abs(step).max() < 1e-6:
            break
    return w


def held_out(reports: Sequence[Judged], folds: int = 5) -> list[Array]:
    """Probabilities of each report's candidates by weights that never saw its group."""
    out: list[Array] = [np.zeros(0)] * len(reports)
    fold = _folds(reports, folds)
    for k in range(folds):
        weights = fit([r for r, own in zip(reports, fold, strict=True) if own != k])
        for n, r in enumerate(reports):
            if fold[n] == k:
                out[n] = probability(r.pairs.values, weights)
    return out


def _folds(reports: Sequence[Judged], folds: int) -> list[int]:
    """A fold for each report, the same for all of its group."""
    place = {group: n % folds for n, group in enumerate(sorted({r.group for r in reports}))}
    return [place[r.group] for r in reports]


# Most examples show the failure that they stand beside; of real reports few show one at all. So the account alone
# promises too much. A telltale line does not: what it means hangs on no base rate.

_LINES = [NAMES.index(name) for name in ("line_in_log", "line_in_prose", "line_in_code")]
"""One of these is 1 where there is a telltale line."""


def fit_shift(reports: Sequence[Judged], probabilities: Sequence[Array]) -> float:
    """What to add to the log odds of candidates without a telltale line, so that they come true on real reports."""
    pairs = [
        (float(p), id in r.right)
        for r, of in zip(reports, probabilities, strict=True)
        if r.real
        for id, lines, p in zip(r.pairs.ids, r.pairs.lines, of, strict=True)
        if not lines
    ]
    if not pairs:
        return 0.0
    odds = _log_odds(np.array([p for p, _ in pairs]))
    hits = np.array([hit for _, hit in pairs], float)
    shift = 0.0
    for _ in range(50):
        p = 1 / (1 + np.exp(-(odds + shift)))
        shift -= float((p - hits).sum() / max((p * (1 - p)).sum(), 1e-9))
    return shift


def held_out_shifted(
    reports: Sequence[Judged], probabilities: Sequence[Array], folds: int = 5
) -> list[Array]:
    """The probabilities with shifts that never saw the report's group."""
    fold = _folds(reports, folds)
    shifts = []
    for k in range(folds):
        kept = [n for n, own in enumerate(fold) if own != k]
        shifts.append(fit_shift([reports[n] for n in kept], [probabilities[n] for n in kept]))
    out = []
    for r, p, k in zip(reports, probabilities, fold, strict=True):
        bare = np.array([not lines for lines in r.pairs.lines], bool)
        out.append(np.where(bare, 1 / (1 + np.exp(-(_log_odds(p) + shifts[k]))), p))
    return out


def shifted(weights: Array, shift: float) -> Array:
    """The weights with a shift for candidates without a telltale line."""
    out = weights.copy()
    out[NAMES.index("constant")] += shift
    out[_LINES] -= shift
    return out


def _log_odds(p: Array) -> Array:
    p = np.clip(p, 1e-9, 1 - 1e-9)
    return np.asarray(np.log(p / (1 - p)))


def fit_threshold(
    reports: Sequence[Judged], probabilities: Sequence[Array], target: float = TARGET_PRECISION
) -> float:
    """The lowest probability from which on the best finding of a report is right often enough; 1.01 = never.

    Only candidates that can be said unasked count: those with a telltale line that nothing speaks against.
    """
    found = ((r, _best(r, p)) for r, p in zip(reports, probabilities, strict=True) if r.real)
    best = sorted(((p, id in r.right) for r, b in found if b is not None for id, p in [b]), reverse=True)
    right, threshold = 0, 1.01
    for n, (p, hit) in enumerate(best, 1):
        right += hit
        if n >= LEAST and right / n >= target:
            threshold = p
    return threshold


def _best(report: Judged, p: Array) -> tuple[str, float] | None:
    """The likeliest candidate that can be said unasked."""
    told = [
        n
        for n, (id, lines) in enumerate(zip(report.pairs.ids, report.pairs.lines, strict=True))
        if lines and id not in report.silent
    ]
    if not told:
        return None
    n = max(told, key=lambda n: float(p[n]))
    return report.pairs.ids[n], float(p[n])


@dataclass(frozen=True, slots=True)
class Figures:
    """How well findings fit, over the reports given."""

    reports: int
    with_entry: int
    """Reports to which an entry applies."""
    shown: int
    precision: float
    """Of the best finding, where it is shown."""
    recall_at_3: float
    """Of the reports to which an entry applies, those that have it among their first three candidates."""


def figures(
    reports: Sequence[Judged], probabilities: Sequence[Array], threshold: float, only: Collection[bool]
) -> Figures:
    """Figures over the reports whose `real` is among `only`."""
    chosen = [(r, p) for r, p in zip(reports, probabilities, strict=True) if r.real in only and len(p)]
    told = [(r, b) for r, p in chosen if (b := _best(r, p)) is not None]
    shown = [(r, id) for r, (id, p) in told if p >= threshold]
    right = sum(id in r.right for r, id in shown)
    able = [(r, p) for r, p in chosen if r.right]
    near = sum(bool(r.right & {r.pairs.ids[int(n)] for n in np.argsort(-p)[:3]}) for r, p in able)
    return Figures(len(chosen), len(able), len(shown), right / max(len(shown), 1), near / max(len(able), 1))


def calibration(reports: Sequence[Judged], probabilities: Sequence[Array]) -> dict[str, Reliability | None]:
    """How well the probabilities fit on real reports: of the likeliest candidate of each, and of all that are shown."""
    real = [(r, p) for r, p in zip(reports, probabilities, strict=True) if r.real and len(p)]
    pairs = [
        (float(p), id in r.right, n == int(np.argmax(of)))
        for r, of in real
        for n, (id, p) in enumerate(zip(r.pairs.ids, of, strict=True))
    ]
    groups = {
        "first candidates": [(p, hit) for p, hit, first in pairs if first],
        f"candidates from {LEAST_SHOWN} on": [(p, hit) for p, hit, _ in pairs if p >= LEAST_SHOWN],
    }
    return {name: reliability([p for p, _ in own], [hit for _, hit in own]) for name, own in groups.items()}


CONFIRMED = Path(__file__).parent / "failure_confirmed.jsonl"
"""Cases that a large language model was asked about with the confirmer's question (llm/confirmer.py): id, the known
failures it was shown, and those it found to apply, ids alone."""


@dataclass(frozen=True, slots=True)
class ConfirmedFigures:
    """What is said unasked where a language model confirms what isn't sure, over the real reports."""

    said: int
    right: int
    with_entry: int


def recorded_confirmations() -> dict[str, list[str]]:
    """Issue to the known failures that the model found to apply; issues that it wasn't asked about are missing."""
    rows = map(json.loads, CONFIRMED.read_text("utf-8").splitlines())
    return {issue_of(row["id"]): row["applies"] for row in rows}


def with_confirmed(
    reports: Sequence[Judged], probabilities: Sequence[Array], threshold: float
) -> ConfirmedFigures:
    """Count what is said: what is probable enough, and else the first known failure that the model confirmed."""
    said = []
    real = [(r, p) for r, p in zip(reports, probabilities, strict=True) if r.real]
    for r, p in real:
        best = _best(r, p)
        if best is not None and best[1] >= threshold:
            said.append(best[0] in r.right)
        elif r.confirmed:
            said.append(r.confirmed[0] in r.right)
    return ConfirmedFigures(len(said), sum(said), sum(bool(r.right) for r, _ in real))
