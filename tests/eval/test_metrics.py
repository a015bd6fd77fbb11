import numpy as np
import pytest

from eval import metrics
from eval.metrics import scored
from tests.eval.factory import predicted, run_of

FOUR = run_of(
    [
        predicted("r#1", ["A.1"], {"A.1": 0.9, "B.1": 0.1}, answer_set=["A.1"]),
        predicted("r#2", ["A.1", "C.1"], {"B.1": 0.6, "C.1": 0.3, "A.1": 0.1}, answer_set=["B.1", "C.1"]),
        predicted("r#3", ["B.1"], {"A.1": 0.55, "C.1": 0.2, "D.1.1": 0.15, "B.1": 0.1}, answer_set=["A.1"]),
        predicted(
            "r#4", ["B.1"], {"B.1": 0.4, "A.1": 0.3, "C.1": 0.3}, claimed=False, answer_set=["B.1", "A.1"]
        ),
    ]
)


def value(metric: metrics.Metric, run=FOUR, axis: str = "symptom") -> float:  # type: ignore[no-untyped-def]
    s = scored(run, axis)
    return float(metric(s, np.ones((1, len(s))))[0])


def test_top1_counts_the_first_id() -> None:
    assert value(metrics.top1) == 0.5


def test_a_hit_on_any_label_counts_for_top3() -> None:
    assert value(metrics.top3) == 0.75


def test_coverage_and_precision_are_of_what_is_claimed() -> None:
    assert value(metrics.coverage) == 0.75
    assert value(metrics.precision) == pytest.approx(1 / 3)


def test_macro_f1_is_a_mean_over_labelled_classes() -> None:
    # A.1: found 1, wrong 1, missed 1; B.1: found 1, wrong 1, missed 1; C.1: missed 1. D.1.1 is no label.
    assert value(metrics.macro_f1) == pytest.approx((0.5 + 0.5 + 0) / 3)


def test_a_hit_on_one_of_two_labels_leaves_the_other_uncounted() -> None:
    run = run_of([predicted("r#1", ["A.1", "B.1"], {"A.1": 1.0})])
    assert value(metrics.macro_f1, run) == 1.0


def test_ece_is_the_mean_distance_of_confidence_and_accuracy() -> None:
    # Bins: 0.9 right, 0.6 wrong, 0.55 wrong (alone in 0.5-0.6), 0.4 right.
    assert value(metrics.ece) == pytest.approx((0.1 + 0.6 + 0.55 + 0.6) / 4)


def test_ece_is_zero_where_confidence_is_what_it_says() -> None:
    cases = [predicted(f"r#{n}", ["A.1" if n < 8 else "B.1"], {"A.1": 0.8, "B.1": 0.2}) for n in range(10)]
    assert value(metrics.ece, run_of(cases)) == pytest.approx(0, abs=1e-12)


def test_aurc_is_the_mean_risk_over_depths() -> None:
    # Right, wrong, wrong, right from the most confident on.
    assert value(metrics.aurc) == pytest.approx((0 + 1 / 2 + 2 / 3 + 2 / 4) / 4)


def test_answer_sets_have_a_size_and_a_coverage() -> None:
    assert value(metrics.set_size) == 1.5
    assert value(metrics.set_coverage) == 0.75


def test_what_is_not_given_is_unscored_and_not_zero() -> None:
    run = run_of([predicted("r#1", ["A.1"], {"A.1": 0.0, "B.1": 0.0}, claimed=False)])
    assert value(metrics.coverage, run) == 0
    for metric in (metrics.precision, metrics.set_size, metrics.set_coverage, metrics.ece, metrics.aurc):
        assert np.isnan(value(metric, run))


def test_an_axis_without_a_reply_is_left_out_and_told() -> None:
    silent = predicted("r#2", ["A.1"], {"A.1": 1.0}).model_copy(update={"axes": {}})
    s = scored(run_of([predicted("r#1", ["A.1"], {"A.1": 1.0}), silent]), "symptom")
    assert (len(s), s.unanswered) == (1, 1)
    assert metrics.top1(s, np.ones((1, 1)))[0] == 1


def test_neighbours_count_the_share_with_a_symptom_of_the_case() -> None:
    run = run_of(
        [
            predicted("r#1", ["A.1"], {"A.1": 1.0}, near=[["A.1"], ["B.1"], []]),
            predicted("r#2", ["A.1", "B.1"], {"A.1": 1.0}, near=[["B.1"], ["A.1"], ["A.1", "C.1"]]),
            predicted("r#3", ["A.1"], {"A.1": 1.0}),
        ]
    )
    assert value(metrics.same_symptom, run) == pytest.approx((1 / 3 + 1) / 2)


def test_weights_are_how_often_a_case_counts() -> None:
    s = scored(FOUR, "symptom")
    doubled = scored(run_of([*FOUR.cases, FOUR.cases[1]]), "symptom")
    for metric in metrics.METRICS.values():
        weighted = metric(s, np.array([[1.0, 2, 1, 1]]))[0]
        if metric is not metrics.aurc:
            assert weighted == pytest.approx(metric(doubled, np.ones((1, 5)))[0])


def test_an_axis_nobody_labelled_has_no_cases() -> None:
    assert len(scored(FOUR, "fix")) == 0
