import gzip
import json
from pathlib import Path

import pytest

from eval.benchmark import Benchmark, given_benchmark, shipped_benchmark
from knowledge.cases import load_cases
from knowledge.errors import DataError
from tests.embeddings.fake_encoder import FakeEncoder

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def shipped() -> Benchmark:
    return shipped_benchmark(FakeEncoder())


def test_the_shipped_benchmark_scores_closely_labelled_cases_alone(shipped: Benchmark) -> None:
    sources = {case.prepared.record.source for case in shipped.scored}
    assert sources == {"human", "pass"}
    assert len(shipped.scored) == 338


def test_the_corpus_is_indexed_and_composed_cases_are_not(shipped: Benchmark) -> None:
    indexed = {case.prepared.record.report.id for case in shipped.cases if case.in_corpus}
    assert indexed == {case.id for case in load_cases()}


def test_given_records_join_and_are_scored_alone(tmp_path: Path) -> None:
    row = {
        "id": "o/r#1",
        "title": "t",
        "body": "b",
        "opened": "2024-01-02",
        "labels": {"type": "fault", "stage": ["A"]},
    }
    file = tmp_path / "own.jsonl.gz"
    file.write_bytes(gzip.compress(json.dumps(row).encode()))
    made = given_benchmark([file], FakeEncoder())
    assert [(case.prepared.record.report.id, case.opened) for case in made.scored] == [
        ("o/r#1", "2024-01-02")
    ]
    assert not made.types_only
    assert not made.scored[0].in_corpus
    assert len(made.cases) > 1000


def test_a_shipped_record_that_is_given_is_scored_where_it_stands(tmp_path: Path) -> None:
    case = load_cases()[0]
    row = {"id": case.id, "title": case.title, "body": case.body, "labels": case.labels.model_dump()}
    (tmp_path / "own.jsonl").write_text(json.dumps(row))
    made = given_benchmark([tmp_path / "own.jsonl"], FakeEncoder())
    assert [c.prepared.record.report.id for c in made.cases].count(case.id) == 1
    assert [c.prepared.record.report.id for c in made.scored] == [case.id]


def test_issues_with_a_type_alone_get_ids_of_their_file(tmp_path: Path) -> None:
    row = {"repo": "a/b", "title": "t", "body": None, "type": "howto"}
    for name in ("one", "two"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row | {"title": f"how to {name}"}))
    made = given_benchmark([tmp_path / "one.jsonl", tmp_path / "two.jsonl"], FakeEncoder())
    assert [c.prepared.record.report.id for c in made.scored] == ["a/b#one-1", "a/b#two-1"]
    assert made.types_only


def test_an_empty_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text("")
    with pytest.raises(DataError, match="no record"):
        given_benchmark([tmp_path / "none.jsonl"], FakeEncoder())


def test_a_label_that_the_taxonomy_lacks_is_told(tmp_path: Path) -> None:
    row = {"id": "o/r#1", "title": "t", "body": "b", "labels": {"type": "fault", "symptom": ["Z.9"]}}
    (tmp_path / "own.jsonl").write_text(json.dumps(row))
    with pytest.raises(DataError, match=r"o/r#1: 'Z\.9' isn't a valid symptom"):
        given_benchmark([tmp_path / "own.jsonl"], FakeEncoder())
