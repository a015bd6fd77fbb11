from itertools import pairwise

import pytest

from eval.benchmark import EvalCase, Split, held_out, split
from knowledge.errors import UserError
from tests.eval.factory import eval_case, record

pytestmark = pytest.mark.long

WORDS = [
    f"{a}{b}" for a in ("alpha", "beta", "gamma", "delta") for b in ("one", "two", "three", "four", "five")
]


def cases(opened: bool = False) -> list[EvalCase]:
    made = []
    for n in range(40):
        repository = ("horovod/horovod", "microsoft/DeepSpeed")[n % 2]
        words = " ".join(WORDS[(n * k + k) % 20] + str(n) for k in range(9))
        one = record(f"{repository}#{n + 1}", words, symptom=["A.1" if n % 3 else "B.1"], stage=["A"])
        made.append(eval_case(one, opened=f"2020-01-{n % 28 + 1:02d}" if opened else None))
    made += [eval_case(record(f"composed#{n}", f"made {WORDS[n]}", source="composed")) for n in range(5)]
    twin = record("pytorch/pytorch#1", "the same as the first", source="annotated", symptom=["A.1"])
    return [*made, eval_case(twin, group="horovod/horovod#1")]


@pytest.mark.parametrize("how", ["cv", "framework", "time"])
def test_no_group_stands_on_both_sides(how: Split) -> None:
    all_cases = cases()
    folds = split(all_cases, how, 5)
    assert len(folds) > 1
    for fold in folds:
        tested = {all_cases[at].group for at in fold.test}
        assert fold.train and fold.test
        assert not tested & {all_cases[at].group for at in fold.train}


def test_cross_validation_scores_every_case_once_and_composed_ones_never() -> None:
    all_cases = cases()
    tested = sorted(at for fold in split(all_cases, "cv", 5) for at in fold.test)
    assert tested == [at for at, case in enumerate(all_cases) if case.scored]
    assert not {45} & set(tested)


def test_each_fold_has_its_share_of_each_symptom() -> None:
    all_cases = cases()
    for fold in split(all_cases, "cv", 5):
        rare = [at for at in fold.test if all_cases[at].prepared.record.labels.symptom == ["B.1"]]
        assert 2 <= len(rare) <= 4


def test_folds_do_not_depend_on_the_order_of_records() -> None:
    all_cases = cases()
    turned = all_cases[::-1]
    names = [{all_cases[at].group for at in fold.test} for fold in split(all_cases, "cv", 5)]
    assert names == [{turned[at].group for at in fold.test} for fold in split(turned, "cv", 5)]


def test_a_left_out_framework_is_not_learned_from() -> None:
    all_cases = cases()
    folds = {fold.name: fold for fold in split(all_cases, "framework")}
    assert set(folds) == {"without horovod", "without deepspeed"}
    learned = {all_cases[at].framework for at in folds["without horovod"].train}
    assert "horovod" not in learned and "deepspeed" in learned


def test_forward_in_time_learns_from_lower_numbers_of_the_repository_only() -> None:
    all_cases = cases()
    for fold in split(all_cases, "time"):
        repository = fold.name.split(" from ")[0]
        ids = [case.prepared.record.report.id.lower() for case in all_cases]

        def numbers(places: tuple[int, ...], ids: list[str] = ids, repository: str = repository) -> list[int]:
            return [int(ids[at].split("#")[1]) for at in places if ids[at].startswith(repository)]

        assert max(numbers(fold.train)) < min(numbers(fold.test))
        assert len(numbers(fold.test)) == 6


def test_with_dates_nothing_opened_later_is_learned_from() -> None:
    all_cases = cases(opened=True)
    for fold in split(all_cases, "time"):
        first = min(str(all_cases[at].opened) for at in fold.test)
        assert all(str(all_cases[at].opened) < first for at in fold.train if all_cases[at].opened)


def test_records_that_allow_no_split_are_told() -> None:
    few = [eval_case(record(f"o/r#{n}", f"{a} {b}")) for n, (a, b) in enumerate(pairwise(WORDS[:3]))]
    with pytest.raises(UserError, match="can't be split by framework"):
        split(few, "framework")


def test_held_out_tests_all_that_is_scored() -> None:
    all_cases = cases()
    fold = held_out(all_cases)
    assert len(fold.test) == 40 and len(fold.train) == 6
