import numpy as np

from eval.metrics import Estimate, estimate, group_weights, precision, scored, top1
from tests.eval.factory import predicted, run_of


def test_groups_are_drawn_whole() -> None:
    weights = group_weights(np.array([0, 0, 1, 2, 2]), 200)
    assert (weights[:, 0] == weights[:, 1]).all()
    assert (weights[:, 3] == weights[:, 4]).all()
    assert (weights[:, [0, 2, 3]].sum(axis=1) == 3).all()


def test_the_same_groups_give_the_same_draws() -> None:
    group = np.arange(20)
    assert (group_weights(group) == group_weights(group)).all()


def test_the_interval_holds_the_figure_and_narrows_with_more_cases() -> None:
    def run(n: int) -> Estimate:
        cases = [predicted(f"r#{k}", ["A.1"], {"A.1" if k % 4 else "B.1": 1.0}) for k in range(n)]
        s = scored(run_of(cases), "symptom")
        return estimate(top1, s, group_weights(s.group))

    few, many = run(20), run(400)
    assert few.value == many.value == 0.75
    for one in (few, many):
        assert one.low is not None and one.high is not None
        assert one.low < 0.75 < one.high
    assert many.high - many.low < (few.high - few.low) / 3  # type: ignore[operator]


def test_one_case_alone_has_no_interval() -> None:
    s = scored(run_of([predicted("r#1", ["A.1"], {"A.1": 1.0})]), "symptom")
    assert str(estimate(top1, s, group_weights(s.group))) == "1.00"


def test_clustered_cases_widen_the_interval() -> None:
    def width(grouped: bool) -> float:
        cases = [
            predicted(
                f"r#{k}", ["A.1"], {"A.1" if k < 50 else "B.1": 1.0}, group=str(k // 10) if grouped else None
            )
            for k in range(100)
        ]
        s = scored(run_of(cases), "symptom")
        made = estimate(top1, s, group_weights(s.group))
        return made.high - made.low  # type: ignore[operator]

    assert width(True) > 2 * width(False)


def test_nothing_claimed_has_no_precision() -> None:
    s = scored(run_of([predicted("r#1", ["A.1"], {"A.1": 1.0}, claimed=False)]), "symptom")
    assert estimate(precision, s, group_weights(s.group)).value is None
    assert str(Estimate(None)) == "–"
