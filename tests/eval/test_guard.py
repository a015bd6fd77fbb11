import pytest

from eval.benchmark import Benchmark, EvalCase, LeakageError, guard, untaught
from knowledge.errors import UserError
from knowledge.training.items import Learned, fingerprints
from tests.eval.factory import eval_case, prepared, record

TEXT = (
    "Training with eight workers stops after the first epoch since one worker never leaves the barrier, "
    "while the others wait in allreduce until the job is killed by the scheduler after ten minutes."
)
NEW = "pip cannot build the wheel because nvcc is missing from the image that the cluster gives us today."
NOTHING = Learned.of(fingerprints([]))


def given(id: str, title: str, body: str) -> EvalCase:
    return eval_case(record(id, title, body, source="given"))


def shipped(id: str, title: str, body: str) -> EvalCase:
    return eval_case(record(id, title, body, source="annotated"))


def test_new_records_pass() -> None:
    benchmark = Benchmark((shipped("o/r#1", "hang", TEXT), given("o/r#2", "wheel", NEW)))
    assert guard(benchmark, NOTHING) is benchmark


def test_an_id_in_the_index_is_refused_and_named() -> None:
    benchmark = Benchmark((shipped("o/r#1", "hang", TEXT), given("O/R#1", "wheel", NEW)))
    with pytest.raises(LeakageError, match="O/R#1: its id") as refusal:
        guard(benchmark, NOTHING)
    assert refusal.value.ids == ("O/R#1",)
    assert "--cross-validate" in str(refusal.value)


def test_a_near_duplicate_of_the_index_is_refused() -> None:
    benchmark = Benchmark((shipped("o/r#1", "hang", TEXT), given("x/y#9", "hang", TEXT + " Thanks")))
    with pytest.raises(LeakageError, match="x/y#9: a near-duplicate"):
        guard(benchmark, NOTHING)


def test_what_the_judge_learned_from_is_refused_though_it_does_not_ship() -> None:
    learned = Learned.of(fingerprints(p.reading for p in prepared(record("o/r#5", "hang", TEXT))))
    benchmark = Benchmark(
        (shipped("o/r#1", "a", "b"), given("o/r#5", "hang", NEW), given("q/q#1", "hang", TEXT))
    )
    with pytest.raises(LeakageError) as refusal:
        guard(benchmark, learned)
    assert refusal.value.ids == ("o/r#5", "q/q#1")


def test_known_records_can_be_skipped() -> None:
    benchmark = Benchmark(
        (shipped("o/r#1", "hang", TEXT), given("O/R#1", "hang", TEXT), given("o/r#2", "wheel", NEW))
    )
    left = guard(benchmark, NOTHING, skip=True)
    assert [case.prepared.record.report.id for case in left.scored] == ["o/r#2"]
    assert [case.prepared.record.report.id for case in left.cases if case.in_corpus] == ["o/r#1"]


def test_skipping_everything_is_an_error() -> None:
    benchmark = Benchmark((shipped("o/r#1", "hang", TEXT), given("O/R#1", "hang", TEXT)))
    with pytest.raises(UserError, match="All records are in the training data"):
        guard(benchmark, NOTHING, skip=True)


def test_what_the_encoder_was_taught_is_left_out_of_folds_too() -> None:
    taught = Learned.of(fingerprints(p.reading for p in prepared(record("o/r#5", "hang", TEXT))))
    benchmark = Benchmark(
        (shipped("o/r#5", "hang", TEXT), given("q/q#1", "hang", TEXT), given("q/q#2", "wheel", NEW))
    )
    left = untaught(benchmark, taught)
    assert [case.prepared.record.report.id for case in left.scored] == ["q/q#2"]
    assert [case.prepared.record.report.id for case in left.cases] == ["o/r#5", "q/q#2"]
    with pytest.raises(UserError, match="All records"):
        untaught(Benchmark(benchmark.cases[:2]), taught)
