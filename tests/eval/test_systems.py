"""Every system on a small set whose labels can be told from its words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from eval.benchmark import Benchmark, EvalCase, split
from eval.metrics import scored
from eval.protocol import SCORED, System, TrainingSet, Verdict
from eval.session import run
from eval.summary import summarise
from eval.systems import BASELINES, Refitted, baseline
from knowledge.errors import UserError
from knowledge.taxonomy import Taxonomy, load_taxonomy
from knowledge.training.items import Prepared
from tests.embeddings.fake_encoder import FakeEncoder
from tests.eval.factory import UNTAUGHT, eval_case, record

pytestmark = pytest.mark.long

KINDS = (
    (
        "A.2",
        "A",
        "dependency_version",
        "dependency",
        "the package {} cannot be imported: ModuleNotFoundError",
    ),
    ("D.1.1", "D", "memory_allocation", "memory_capacity", "CUDA out of memory in step {} of training"),
    (
        "D.1.3",
        "D",
        "comm_config",
        "communication_configuration",
        "all ranks hang in allreduce after epoch {}",
    ),
)


def small() -> list[EvalCase]:
    taxonomy = load_taxonomy()
    made = []
    for n in range(48):
        symptom, stage, fix, cause, text = KINDS[n % 3]
        assert symptom in taxonomy.ids("symptom")
        labels: dict[str, Any] = {"symptom": [symptom], "stage": [stage], "distributed": bool(n % 3)}
        labels |= {"fix": [fix]} if fix in taxonomy.ids("fix") else {}
        labels |= {"cause": [cause]} if cause in taxonomy.ids("cause") else {}
        words = f"{text.format(f'name{n}')} number{n} unit{n * 7} host{n * 3}"
        made.append(eval_case(record(f"o/r#{n}", words, f"{words}. Seen on node{n} of lab{n}.", **labels)))
    for n, topic in enumerate(taxonomy.ids("topic") * 2, start=48):
        made.append(eval_case(record(f"o/r#{n}", f"How do I set up {topic}{n}?", type="howto", topic=topic)))
    return made


@pytest.fixture(scope="module")
def taxonomy() -> Taxonomy:
    return load_taxonomy()


@pytest.fixture(scope="module")
def benchmark_() -> Benchmark:
    return Benchmark(tuple(small()))


# The fake encoder's vectors say nothing, and nearest cases rest on them by two thirds.
@pytest.mark.parametrize(("name", "least"), [("distriage", 0.9), ("tfidf", 0.9), ("knn", 0.5)])
def test_systems_learn_what_words_tell(
    name: str, least: float, benchmark_: Benchmark, taxonomy: Taxonomy
) -> None:
    system: System = Refitted(UNTAUGHT) if name == "distriage" else baseline(name, FakeEncoder)
    folds = split(benchmark_.cases, "cv", 3)
    made = run([system], benchmark_, folds, taxonomy, "3 folds", "by hand")[name]
    assert len(made.cases) == len(benchmark_.cases)
    assert len(scored(made, "symptom")) == 48
    assert scored(made, "symptom").hit1.mean() > least
    assert scored(made, "stage").hit1.mean() > least


@pytest.mark.parametrize("name", ["distriage", *BASELINES])
def test_every_ranking_is_a_distribution_over_the_closed_set(
    name: str, benchmark_: Benchmark, taxonomy: Taxonomy
) -> None:
    system: System = Refitted(UNTAUGHT) if name == "distriage" else baseline(name, FakeEncoder)
    items = [case.prepared for case in benchmark_.cases]
    system.fit(TrainingSet(items[8:], items[8:], taxonomy))
    for verdict in system.rank(items[:8]):
        for axis in SCORED:
            ranking = verdict.axes[axis].ranking
            assert sum(p for _, p in ranking) == pytest.approx(1, abs=1e-6)
            assert [p for _, p in ranking] == sorted((p for _, p in ranking), reverse=True)
            if axis != "distributed":
                assert {id for id, _ in ranking} <= set(taxonomy.ids(axis))


def test_a_fold_never_sees_what_it_tests(benchmark_: Benchmark, taxonomy: Taxonomy) -> None:
    class Watching:
        name = "watching"

        def __init__(self) -> None:
            self.known: set[str] = set()

        def fit(self, train: TrainingSet) -> None:
            self.known = {item.record.group for item in (*train.learn, *train.corpus)}

        def rank(self, items: Sequence[Prepared]) -> list[Verdict]:
            assert not self.known & {item.record.group for item in items}
            return [Verdict({}) for _ in items]

    made = run([Watching()], benchmark_, split(benchmark_.cases, "cv", 4), taxonomy, "cv", "x")["watching"]
    assert len(made.cases) == len(benchmark_.cases)


def test_a_refitted_index_shows_training_cases_only(benchmark_: Benchmark, taxonomy: Taxonomy) -> None:
    items = [case.prepared for case in benchmark_.cases]
    system = Refitted(UNTAUGHT)
    system.fit(TrainingSet(items[8:], items[8:], taxonomy))
    known = {item.record.report.id for item in items[8:]}
    for verdict in system.rank(items[:8]):
        assert len(verdict.neighbours) == 3
        assert set(verdict.neighbours) <= known


def test_a_silent_system_is_unscored_and_not_zero(benchmark_: Benchmark, taxonomy: Taxonomy) -> None:
    class Silent:
        name = "silent"

        def fit(self, train: TrainingSet) -> None: ...

        def rank(self, items: Sequence[Prepared]) -> list[Verdict]:
            return [Verdict({}) for _ in items]

    folds = split(benchmark_.cases, "cv", 3)
    summary = summarise(run([Silent()], benchmark_, folds, taxonomy, "cv", "x")["silent"], 50)
    assert summary.axes["symptom"].n == 0
    assert summary.axes["symptom"].unanswered == 48
    assert summary.axes["symptom"].figures["top1"].value is None


def test_the_same_run_twice_predicts_the_same(benchmark_: Benchmark, taxonomy: Taxonomy) -> None:
    folds = split(benchmark_.cases, "cv", 2)
    first, second = (
        run([Refitted(UNTAUGHT)], benchmark_, folds, taxonomy, "cv", "x")["distriage"] for _ in range(2)
    )
    assert first == second


def test_an_unknown_baseline_is_told() -> None:
    with pytest.raises(UserError, match="Unknown system 'oracle'"):
        baseline("oracle", FakeEncoder)


def test_majority_ranks_by_frequency(benchmark_: Benchmark, taxonomy: Taxonomy) -> None:
    items = [case.prepared for case in benchmark_.cases]
    system = baseline("majority", FakeEncoder)
    system.fit(TrainingSet(items[:1], [], taxonomy))
    opinion = system.rank(items[:1])[0].axes["symptom"]
    assert opinion.ranking[0][0] == "A.2"
    assert not opinion.answer
    assert np.isclose(opinion.ranking[0][1], 1, atol=1e-3)
