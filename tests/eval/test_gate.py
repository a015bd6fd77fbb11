from pathlib import Path

import pytest

from eval.compare import baseline_of, judge_run, read_baseline, regressions, write_baseline
from eval.protocol import Predictions
from knowledge.errors import DataError
from tests.eval.factory import predicted, run_of

BASELINE = Path(__file__).parents[2] / "eval" / "baseline.json"


def run(right: int, n: int = 60) -> Predictions:
    return run_of([predicted(f"R/r#{k}", ["A.1"], {"A.1" if k < right else "B.1": 1.0}) for k in range(n)])


def test_a_significant_drop_is_a_regression() -> None:
    worse = regressions(judge_run(baseline_of(run(50)), run(30)))
    assert [(one.axis, one.metric) for one in worse] == [("symptom", "top1"), ("symptom", "top3")]


@pytest.mark.parametrize("right", [50, 49, 60])
def test_the_same_a_hair_less_and_more_all_pass(right: int) -> None:
    assert not regressions(judge_run(baseline_of(run(50)), run(right)))


def test_a_baseline_reads_back_as_written(tmp_path: Path) -> None:
    made = baseline_of(run(50))
    write_baseline(made, tmp_path / "b.json")
    assert read_baseline(tmp_path / "b.json") == made


def test_a_run_that_lacks_cases_is_refused() -> None:
    with pytest.raises(DataError, match="30 of the baseline's 60"):
        judge_run(baseline_of(run(50)), run(30, 30))


def test_what_is_no_baseline_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text('{"system": 1}')
    with pytest.raises(DataError, match="is not a baseline"):
        read_baseline(tmp_path / "b.json")
    with pytest.raises(DataError, match="Can't read"):
        read_baseline(tmp_path / "none.json")


def test_the_stored_baseline_is_of_the_shipped_benchmark_and_holds_no_texts() -> None:
    baseline = read_baseline(BASELINE)
    assert baseline.system == "distriage"
    assert "cross-validation" in baseline.split
    assert len(baseline.hits["symptom"]) > 250
    assert BASELINE.stat().st_size < 150_000
