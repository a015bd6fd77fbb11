"""Learning the matcher: what it weighs, that nothing sees its own group, and the threshold at its precision."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from knowledge.findings.failure import load_catalogue
from knowledge.findings.matcher import probability
from knowledge.findings.pairs import NAMES, Pairs
from knowledge.training.matching import (
    LEAST,
    TARGET_PRECISION,
    Array,
    Judged,
    figures,
    fit,
    fit_threshold,
    held_out,
    recorded_confirmations,
    with_confirmed,
)

LOG, DIFFERS = NAMES.index("line_in_log"), NAMES.index("framework_differs")


def judged(
    group: str, right: set[str], *, log: str = "a", differs: str = "b", real: bool = True, weight: float = 1.0
) -> Judged:
    """A report with candidates a and b, one of which has its line in the log."""
    values = np.zeros((2, len(NAMES)))
    values[:, 0] = 1.0
    values["ab".index(log), LOG] = 1.0
    values["ab".index(differs), DIFFERS] = 1.0
    return Judged(group, Pairs(("a", "b"), values, ((3,), ()), ((), ())), frozenset(right), weight, real)


def best(p: float, hit: bool, *, real: bool = True) -> tuple[Judged, Array]:
    """A report whose best candidate has this probability."""
    return judged("g", {"a"} if hit else set(), real=real), np.array([p, p / 2])


def threshold_of(found: list[tuple[Judged, Array]]) -> float:
    return fit_threshold([r for r, _ in found], [p for _, p in found])


def test_what_goes_with_right_entries_gets_weight_and_what_goes_with_wrong_ones_loses_it() -> None:
    w = fit([judged(f"g{n}", {"a"}) for n in range(20)])
    assert w[LOG] > 0 > w[DIFFERS]
    p = probability(judged("x", set()).pairs.values, w)
    assert p[0] > 0.8 > 0.2 > p[1]


def test_what_never_varies_gets_no_weight() -> None:
    w = fit([judged(f"g{n}", {"a"}) for n in range(20)])
    untouched = [n for n in range(1, len(NAMES)) if n not in (LOG, DIFFERS)]
    assert np.allclose(w[untouched], 0.0)


def test_the_constant_alone_gives_the_share_of_right_ones() -> None:
    reports = [judged(f"g{n}", {"a"} if n < 3 else set()) for n in range(10)]
    for r in reports:
        r.pairs.values[:, 1:] = 0.0
    p = probability(reports[0].pairs.values, fit(reports))
    assert p == pytest.approx([0.15, 0.15], abs=1e-3)


def test_a_heavier_report_counts_more() -> None:
    right, wrong = (judged("g", {"a"}), judged("h", {"b"}))
    heavy = judged("g", {"a"}, weight=10.0)
    assert fit([heavy, wrong])[LOG] > fit([right, wrong])[LOG]


def test_a_group_never_sees_its_own_labels() -> None:
    reports = [judged(f"g{n}", {"a"}) for n in range(10)]
    flipped = [*reports[:9], judged("g9", {"b"})]
    before, after = held_out(reports), held_out(flipped)
    assert np.allclose(before[9], after[9])
    assert not np.allclose(before[0], after[0])


def test_reports_of_one_group_are_left_out_together() -> None:
    same = [judged("twins", {"a"}), judged("twins", {"a"}), *(judged(f"g{n}", {"a"}) for n in range(8))]
    flipped = [judged("twins", {"a"}), judged("twins", {"b"}), *same[2:]]
    assert np.allclose(held_out(same)[0], held_out(flipped)[0])


def test_the_threshold_is_the_lowest_at_which_nine_of_ten_are_right() -> None:
    # 27 right ones, three wrong ones at the end of them: 27 of 30 is 0.9; one more wrong one is too many.
    found = [best(0.99 - n / 100, True) for n in range(27)]
    found += [best(0.72 - n / 100, False) for n in range(4)]
    assert threshold_of(found) == pytest.approx(0.70)
    shown = figures([r for r, _ in found], [p for _, p in found], threshold_of(found), [True])
    assert (shown.shown, shown.precision) == (30, TARGET_PRECISION)


def test_a_few_right_ones_set_no_threshold() -> None:
    assert threshold_of([best(0.99, True)] * (LEAST - 1)) == 1.01
    assert threshold_of([best(0.99, True)] * LEAST) == 0.99


def test_where_too_many_are_wrong_nothing_is_sure() -> None:
    assert threshold_of([best(0.9 - n / 100, n % 5 > 0) for n in range(50)]) == 1.01
    assert threshold_of([]) == 1.01


def test_thresholds_are_set_by_real_reports_alone() -> None:
    examples = [best(0.99, True, real=False)] * 100
    assert threshold_of(examples) == 1.01
    wrong = [best(0.9, False)] * LEAST
    assert threshold_of([*examples, *wrong]) == 1.01


def test_figures_count_shown_right_and_found() -> None:
    found = [best(0.9, True), best(0.8, False), best(0.3, True), best(0.95, True, real=False)]
    reports, p = [r for r, _ in found], [p for _, p in found]
    real = figures(reports, p, 0.5, [True])
    assert (real.reports, real.with_entry, real.shown, real.precision) == (3, 2, 2, 0.5)
    assert real.recall_at_3 == 1.0
    assert figures(reports, p, 0.5, [True, False]).reports == 4
    missed = judged("g", {"c"})
    assert figures([missed], [np.array([0.9, 0.1])], 0.5, [True]).recall_at_3 == 0.0


def test_what_rests_on_no_line_is_never_said_unasked() -> None:
    def by_account(p: float) -> tuple[Judged, Array]:
        report, found = best(p, True)
        pairs = Pairs(report.pairs.ids, report.pairs.values, ((), ()), report.pairs.held)
        return Judged("g", pairs, report.right, 1.0, True), found

    found = [by_account(0.99)] * 40
    assert threshold_of(found) == 1.01
    assert figures([r for r, _ in found], [p for _, p in found], 0.5, [True]).shown == 0


def test_what_is_not_sure_is_said_where_the_model_confirmed_it() -> None:
    sure, doubtful = np.array([0.9, 0.1]), np.array([0.3, 0.2])
    reports = [
        judged("1", {"a"}),
        judged("2", {"b"}),
        judged("3", {"a"}),
        judged("4", {"b"}),
        judged("5", set()),
    ]
    reports.append(judged("6", {"a"}, real=False))
    probabilities = [sure, doubtful, doubtful, doubtful, doubtful, doubtful]
    applies = {"2": ("b",), "3": ("b", "a"), "6": ("a",)}
    reports = [replace(r, confirmed=applies.get(r.group, ())) for r in reports]
    found = with_confirmed(reports, probabilities, 0.8)
    assert (found.said, found.right, found.with_entry) == (3, 2, 4)
    assert with_confirmed(reports, probabilities, 0.2).said == 5, "what is sure needs nobody's word"


def test_what_was_recorded_names_known_failures() -> None:
    known = load_catalogue()
    told = recorded_confirmations()
    assert len(told) > 200 and any(told.values())
    assert {id for ids in told.values() for id in ids} <= set(known)
