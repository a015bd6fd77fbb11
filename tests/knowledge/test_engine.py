"""From report to triage, on the shipped knowledge."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from knowledge.engine import Knowledge, load_knowledge, triage
from knowledge.errors import ModelError
from knowledge.judging.axes import axis_ids
from knowledge.report import Report
from knowledge.triage import AXES, Triage
from tests.embeddings.fake_encoder import FakeEncoder

EXAMPLE = Path(__file__).parents[2] / "examples" / "hang.md"


def of(title: str, body: str, knowledge: Knowledge, **more: object) -> Triage:
    return triage(Report("a/b#1", title, body, **more), knowledge)  # type: ignore[arg-type]


def test_the_same_input_gives_the_same_value(knowledge: Knowledge) -> None:
    report = Report("hang.md", "Hangs", EXAMPLE.read_text("utf-8"))
    assert triage(report, knowledge) == triage(report, knowledge)


def test_distributions_cover_the_closed_sets_and_sum_to_one(knowledge: Knowledge) -> None:
    value = of("Crash", "RuntimeError: CUDA out of memory", knowledge)
    for axis in AXES:
        ranking = getattr(value, axis).ranking
        assert {r.id for r in ranking} == set(axis_ids(knowledge.taxonomy, axis))
        assert sum(r.p for r in ranking) == pytest.approx(1.0, abs=0.01)
        assert [r.p for r in ranking] == sorted((r.p for r in ranking), reverse=True)


def test_the_usual_framework_counts_only_where_the_text_names_none(knowledge: Knowledge) -> None:
    said = of("Megatron-LM stops", "Megatron-LM hangs on two nodes.", knowledge, usual_framework="pytorch")
    unsaid = of("It stops", "It hangs on two nodes.", knowledge, usual_framework="keras")
    assert (said.evidence.framework, unsaid.evidence.framework) == ("megatron-lm", "keras")


def test_a_plain_out_of_memory_is_recognised(knowledge: Knowledge) -> None:
    body = "Training BERT with DDP on 8 GPUs stops in the first epoch.\n\n```\nRuntimeError: CUDA out of memory. "
    value = of("CUDA OOM with DDP", body + "Tried to allocate 2.00 GiB\n```", knowledge)
    assert value.symptom.top == "D.1.2"
    assert value.type.answer == ["fault"]
    assert any("out of memory" in quote.text for quote in value.evidence.lines)


def test_a_question_gets_its_topic_and_no_diagnosis(knowledge: Knowledge) -> None:
    value = of(
        "How can I use Horovod with gradient accumulation?", "Is there an example for this?", knowledge
    )
    assert value.type.top == "howto"
    assert value.advice.topic is not None
    assert not value.advice.fixes
    assert not value.script
    assert value.symptom.answer == []


def test_an_empty_report_claims_nothing(knowledge: Knowledge) -> None:
    value = of("", "", knowledge)
    assert all(getattr(value, axis).answer == [] for axis in AXES)
    assert value.distributed.answer is None


def test_secrets_reach_no_part_of_the_triage(knowledge: Knowledge) -> None:
    secret = "ghp_" + "a1B2" * 9
    value = of(f"Fails with {secret}", f"RuntimeError: NCCL error {secret}\nexport TOKEN={secret}", knowledge)
    assert secret not in value.model_dump_json()


def test_a_case_is_not_its_own_neighbour(knowledge: Knowledge) -> None:
    case = next(iter(knowledge.store.cases.values()))
    value = triage(Report(case.id, case.title, case.body), knowledge)
    assert case.id not in [n.id for n in value.neighbours]


def test_neighbours_fixes_and_advice_rest_on_what_is_known(knowledge: Knowledge) -> None:
    value = of("Job hangs in allreduce", "One or more tensors were submitted by subset of ranks", knowledge)
    assert 3 <= len(value.neighbours) <= 5
    assert all(n.url == knowledge.store.cases[n.id].url for n in value.neighbours)
    assert value.advice.fixes
    assert all(0 <= f.support.count <= f.support.of for f in value.advice.fixes)


@pytest.mark.shared
@pytest.mark.parametrize("step", [100, pytest.param(25, marks=pytest.mark.long)])
def test_real_reports_all_go_through(shared: Path, knowledge: Knowledge, step: int) -> None:
    with gzip.open(shared / "real" / "reports.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for number, line in enumerate(lines) if number % step == 0]
    for row in rows:
        value = triage(Report(row["id"], row["title"], row["body"]), knowledge)
        assert Triage.model_validate_json(value.model_dump_json()) == value


def test_a_judge_of_another_encoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="a different embedding model"):
        load_knowledge(None, tmp_path, encoder=FakeEncoder(dims=384))


def test_few_words_and_a_likely_failure_are_answered_where_something_of_the_field_is_named(
    knowledge: Knowledge,
) -> None:
    stuck = "{} workers stuck in Init: \"nslookup: can't resolve 'job-master-0'\", istio-injection=enabled"
    named = of("istio kubeflow", stuck.format("PyTorchJob"), knowledge)
    assert named.scope == "too_little"
    assert "pytorchjob-worker-init-stuck" in [finding.id for finding in named.findings]
    assert not any(finding.sure for finding in named.findings)
    unnamed = of("istio kubeflow", stuck.format("Batch job"), knowledge)
    assert (unnamed.scope, unnamed.findings) == ("other_field", [])


def test_a_telltale_line_counts_where_no_type_is_claimed_and_not_against_a_claimed_one(
    knowledge: Knowledge,
) -> None:
    line = "ValueError: You can't train a model that has been loaded with `device_map='auto'` in any distributed mode."
    unclaimed = of("device_map auto distributed", line, knowledge)
    assert unclaimed.type.answer == []
    assert [f.id for f in unclaimed.findings if f.sure] == ["device-map-auto-in-distributed-mode"]
    wished = of("device_map auto distributed", line, knowledge, set_by_people={"type": ["feature"]})
    assert wished.findings == []
