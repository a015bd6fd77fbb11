import pytest

from eval.compare import compare, mcnemar
from eval.protocol import Predictions
from knowledge.errors import UserError
from tests.eval.factory import predicted, run_of


def run(right: set[int], n: int = 40) -> Predictions:
    return run_of([predicted(f"r#{k}", ["A.1"], {"A.1" if k in right else "B.1": 1.0}) for k in range(n)])


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    [(0, 0, 1.0), (1, 1, 1.0), (0, 5, 0.0625), (10, 0, 2 / 1024), (2, 8, 0.109375), (5, 5, 1.0)],
)
def test_mcnemar_is_the_binomial_test_of_discordant_cases(only_a: int, only_b: int, p: float) -> None:
    assert mcnemar(only_a, only_b) == pytest.approx(p)
    assert mcnemar(only_b, only_a) == pytest.approx(p)


def test_a_clear_gain_is_significant() -> None:
    top1 = compare(run(set(range(10))), run(set(range(30))))[0]
    assert (top1.axis, top1.metric, top1.n) == ("symptom", "top1", 40)
    assert top1.delta == pytest.approx(0.5)
    assert top1.significant and top1.low > 0
    assert (top1.only_a, top1.only_b) == (0, 20)


def test_the_same_run_differs_by_nothing() -> None:
    one = compare(run({1, 2}), run({1, 2}))[0]
    assert (one.delta, one.low, one.high, one.p, one.significant) == (0, 0, 0, 1.0, False)


def test_pairing_matches_cases_by_id_whatever_their_order() -> None:
    a, b = run({1, 2, 3}), run({1, 2, 3})
    turned = b.model_copy(update={"cases": b.cases[::-1]})
    assert compare(a, turned)[0].only_a == compare(a, turned)[0].only_b == 0


def test_only_common_cases_count() -> None:
    a, b = run(set(range(20)), 20), run(set(range(40)), 40)
    assert compare(a, b)[0].n == 20


def test_relabelled_cases_do_not_compare() -> None:
    a = run_of([predicted("r#1", ["A.1"], {"A.1": 1.0})])
    b = run_of([predicted("r#1", ["A.2"], {"A.1": 1.0})])
    with pytest.raises(UserError, match="no scored cases in common"):
        compare(a, b)
