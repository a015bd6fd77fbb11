"""The second reader on the real engine, against a server on a real socket."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from knowledge.engine import Knowledge, examine, triage
from knowledge.errors import InputError
from knowledge.judging.axes import JUDGED
from knowledge.report import Report
from knowledge.triage import AXES, Triage
from llm.budget import MemoryLedger
from llm.calls import FileCache
from llm.fusion import FusionWeights, fuse, load_weights
from llm.values import LlmConfig, Tokens
from tests.llm.fake_server import Answer, Body, FakeLlm
from tests.llm.questions import REPORT, a_result, without_token
from tests.llm.second_readers import duty_of, second_reader, sensible


def without_note(value: Triage) -> Triage:
    return value.model_copy(update={"second_reading": None})


def test_both_duties_move_the_answer(llm: FakeLlm, config: LlmConfig, knowledge: Knowledge) -> None:
    llm.brain = sensible
    local = triage(REPORT, knowledge)
    with second_reader(config) as reader:
        done = reader.triage(REPORT, knowledge)
    assert [duty_of(body) for body in llm.requests] == ["reader", "adjudicator"]
    assert (done.note.used, done.note.fallback_reason, done.course.tokens) == (True, None, Tokens(2000, 200))
    assert done.note.cost == pytest.approx(2000 * 0.2e-6 + 200 * 0.8e-6)
    assert done.triage.symptom != local.symptom
    assert done.triage.evidence == local.evidence
    note = done.triage.second_reading
    assert note is not None
    assert (note.duties, note.model, note.why) == (["reader", "adjudicator"], "acme-7b", None)
    assert "all-reduce that one of them never joins" in llm.requests[1]["messages"][1]["content"]


@pytest.mark.parametrize("duty", ["reader", "adjudicator"])
def test_each_duty_can_be_had_alone(llm: FakeLlm, config: LlmConfig, knowledge: Knowledge, duty: str) -> None:
    llm.brain = sensible
    with second_reader(replace(config, duties=(duty,))) as reader:  # type: ignore[arg-type]
        note = reader.triage(REPORT, knowledge).triage.second_reading
    assert note is not None
    assert note.duties == [duty]
    assert [duty_of(body) for body in llm.requests] == [duty]


def test_the_reason_is_shown_in_mode_plain_with_what_it_cites(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    near = [n.id for n in triage(REPORT, knowledge).neighbours]
    llm.brain = lambda body: sensible(body, cases=near[:1])
    with second_reader(replace(config, reason_mode="plain", duties=("adjudicator",))) as reader:
        done = reader.triage(REPORT, knowledge)
    note = done.triage.second_reading
    assert note is not None
    assert done.note.why == note.why == "One rank never joined the collective."
    assert (note.lines, note.cases) == ([1], near[:1])


@pytest.mark.parametrize(
    "changes", [{"reason": "See https://evil.example"}, {"lines": [999]}, {"cases": ["a/b#1"]}]
)
def test_a_reason_that_fails_is_dropped_and_the_ranking_kept(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge, changes: dict[str, object]
) -> None:
    llm.brain = lambda body: sensible(body, **changes)
    with second_reader(replace(config, reason_mode="plain")) as reader:
        done = reader.triage(REPORT, knowledge)
    assert (done.note.used, done.note.why) == (True, None)


def test_the_account_goes_through_the_local_classifier(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    """What moves the answer is the local judge's judgement of the account, and nothing else of the reader's."""
    words = "Process 3 is killed by the kernel: out of memory on the host while the data loader starts its workers."
    reply = {"account": words, "lines": [1], "versions": [{"component": "NCCL", "version": "2.20.5"}]}
    llm.brain = lambda body: Answer(json.dumps(reply))
    with second_reader(replace(config, duties=("reader",))) as reader:
        done = reader.triage(REPORT, knowledge)
    line = REPORT.body.split("\n")[0]
    retold = replace(REPORT, body=f"{words}\n\nnccl 2.20.5.\n\n```\n{line}\n```")
    judged = examine(retold, knowledge).judgement
    expected = fuse(examine(REPORT, knowledge).judgement, judged, {}, load_weights())
    for axis in AXES:
        assert [r.id for r in getattr(done.triage, axis).ranking] == [
            id_ for id_, _ in expected[axis].ranking
        ]
        assert getattr(done.triage, axis).ranking[0].p == pytest.approx(
            expected[axis].ranking[0][1], abs=1e-4
        )
    assert judged["symptom"].ranking[0] != examine(REPORT, knowledge).judgement["symptom"].ranking[0]
    assert done.triage.evidence == triage(REPORT, knowledge).evidence


def test_the_adjudicator_s_question_does_not_depend_on_the_weights(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    """Or fitting them would mean asking, and paying for, everything again."""
    llm.brain = sensible
    one = dict.fromkeys(JUDGED, 1.0)
    for weights in (None, FusionWeights(one, one, one, {})):
        with second_reader(config, weights=weights) as reader:
            reader.triage(REPORT, knowledge)
    first, second = (without_token(body) for body in (llm.requests[1], llm.requests[3]))
    assert first == second


def test_a_diagnostics_result_in_the_report_still_moves_the_causes(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = sensible
    given = replace(REPORT, body=f"{REPORT.body}\n{a_result()}")
    with second_reader(config) as reader:
        done = reader.triage(given, knowledge)
        apart = reader.triage(REPORT, knowledge, result=a_result())
    (told,), (locally,) = done.triage.measured, triage(given, knowledge).measured
    assert told.partition("(")[0] == locally.partition("(")[0]
    assert apart.triage.measured == done.triage.measured
    assert apart.triage.cause == done.triage.cause
    assert done.triage.content_hash == given.content_hash
    assert done.triage.script == apart.triage.script
    assert "distriage-result" not in json.dumps(llm.requests)


def test_a_damaged_result_is_told_before_anything_is_paid(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    with second_reader(config) as reader, pytest.raises(InputError):
        reader.triage(REPORT, knowledge, result="```distriage-result\nhalf")
    assert llm.requests == []


def test_a_damaged_result_in_the_reports_text_is_noted(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    report = replace(REPORT, body=f"{REPORT.body}\n```distriage-result\nhalf")
    with second_reader(config) as reader:
        found = reader.triage(report, knowledge).triage
    assert found.evidence.notes[0].startswith("A diagnostics result in the text could not be read: ")
    assert found.content_hash == report.content_hash


FAULTS: dict[str, Callable[[Body], Answer]] = {
    "server_error": lambda body: Answer(status=500),
    "rate_limited": lambda body: Answer(status=429, headers={"Retry-After": "40"}),
    "denied": lambda body: Answer(status=401),
    "bad_request": lambda body: Answer(status=404),
    "refused": lambda body: Answer(refusal="no"),
    "truncated": lambda body: Answer('{"account": "', finish="length"),
    "invalid_json": lambda body: Answer("I am sorry, I cannot do that."),
    "wrong_schema": lambda body: Answer('{"answer": "D.2.1"}'),
    "wrong_model": lambda body: Answer(model="cheap-1b"),
    "unreachable": lambda body: Answer(cut_after=1),
    "timeout": lambda body: Answer(silent=30),
}


@pytest.mark.parametrize("reason", FAULTS)
def test_whatever_fails_the_local_answer_goes_out_on_time(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge, reason: str
) -> None:
    llm.brain = FAULTS[reason]
    local = triage(REPORT, knowledge)
    with second_reader(replace(config, timeout=1.0)) as reader:
        start = time.monotonic()
        done = reader.triage(REPORT, knowledge)
        assert time.monotonic() - start < 4
    assert (done.note.used, done.note.why, done.note.fallback_reason) == (False, None, reason)
    assert without_note(done.triage) == local


def test_ids_outside_the_set_void_the_answer(llm: FakeLlm, config: LlmConfig, knowledge: Knowledge) -> None:
    llm.brain = lambda body: sensible(body, symptom=["D.2.1", "Z.9"])
    with second_reader(replace(config, duties=("adjudicator",))) as reader:
        done = reader.triage(REPORT, knowledge)
    assert (done.note.used, done.note.fallback_reason) == (False, "unknown_ids")
    assert without_note(done.triage) == triage(REPORT, knowledge)


def test_a_fault_of_one_duty_leaves_the_other(llm: FakeLlm, config: LlmConfig, knowledge: Knowledge) -> None:
    llm.brain = lambda body: Answer("no") if duty_of(body) == "reader" else sensible(body)
    with second_reader(config) as reader:
        note = reader.triage(REPORT, knowledge).triage.second_reading
    assert note is not None
    assert (note.used, note.duties, note.fallback_reason) == (True, ["adjudicator"], "invalid_json")


def test_both_duties_together_stay_below_the_bound(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = lambda body: replace(sensible(body), drip=0.05)
    with second_reader(replace(config, timeout=2.0)) as reader:
        start = time.monotonic()
        done = reader.triage(REPORT, knowledge)
    assert time.monotonic() - start < 4
    assert (done.note.used, done.note.fallback_reason) == (False, "timeout")


def test_retries_and_pauses_come_out_of_the_one_time(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    """Each duty is refused once with a pause that fits, then answered slowly; the second one finds no time left."""
    refused: set[str] = set()

    def brain(body: Body) -> Answer:
        if duty_of(body) not in refused:
            refused.add(duty_of(body))
            return Answer(status=429, headers={"Retry-After": "0.4"})
        return replace(sensible(body), silent=0.5)

    llm.brain = brain
    with second_reader(replace(config, timeout=2.2)) as reader:
        start = time.monotonic()
        done = reader.triage(REPORT, knowledge)
        assert time.monotonic() - start < 2.2 + 2
    assert "reader" in done.note.duties
    assert len(llm.requests) >= 3


def test_a_pause_beyond_the_time_is_not_waited_for_by_either_duty(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = lambda body: Answer(status=429, headers={"Retry-After": "30"})
    with second_reader(replace(config, timeout=20)) as reader:
        start = time.monotonic()
        done = reader.triage(REPORT, knowledge)
        assert time.monotonic() - start < 4
    assert [fault.reason for fault in done.course.faults] == ["rate_limited", "breaker_open"]
    assert len(llm.requests) == 1


def test_a_spent_budget_is_said(llm: FakeLlm, config: LlmConfig, knowledge: Knowledge) -> None:
    with second_reader(replace(config, daily_budget=0.0)) as reader:
        done = reader.triage(REPORT, knowledge)
    assert (done.note.used, done.note.fallback_reason, llm.requests) == (False, "budget_spent", [])


def test_a_repository_s_budget_is_its_own(llm: FakeLlm, config: LlmConfig, knowledge: Knowledge) -> None:
    llm.brain = sensible
    ledger = MemoryLedger()
    tight = replace(config, repository_daily_budget=0.004, duties=("adjudicator",))
    with second_reader(tight, ledger=ledger) as reader:
        reasons = [
            reader.triage(replace(REPORT, id=f"a/b#{n}"), knowledge).note.fallback_reason for n in range(9)
        ]
        other = reader.triage(replace(REPORT, id="a/c#1"), knowledge)
    assert reasons[0] is None
    assert reasons[-1] == "budget_spent"
    assert other.note.used


def test_an_edit_back_is_answered_from_the_cache(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge, tmp_path: Path
) -> None:
    llm.brain = sensible
    with second_reader(config, FileCache(tmp_path, config)) as reader:
        first = reader.triage(REPORT, knowledge)
        again = reader.triage(REPORT, knowledge)
    assert len(llm.requests) == 2
    assert (again.note.used, again.note.cost, again.course.tokens) == (True, 0.0, Tokens())
    assert without_note(again.triage) == without_note(first.triage)


def test_an_empty_report_is_not_sent(llm: FakeLlm, config: LlmConfig, knowledge: Knowledge) -> None:
    with second_reader(config) as reader:
        done = reader.triage(Report("a/b#1", " ", "\n"), knowledge)
    assert (done.note.used, llm.requests) == (False, [])


def test_secrets_are_gone_before_anything_is_sent(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    secret = "hf_" + "aZ3bY4cX5dW6eV7fU8gT9hS0iR1jQ2kP"
    llm.brain = sensible
    with second_reader(config) as reader:
        reader.triage(
            replace(REPORT, title=f"Hang {secret}", body=f"{REPORT.body}\nlogin with {secret}"), knowledge
        )
    assert len(llm.requests) == 2
    assert secret not in json.dumps(llm.requests)
    assert "[redacted:" in json.dumps(llm.requests)


def test_the_note_is_stored_and_read_back(llm: FakeLlm, config: LlmConfig, knowledge: Knowledge) -> None:
    llm.brain = sensible
    with second_reader(config) as reader:
        value = reader.triage(REPORT, knowledge).triage
    assert Triage.model_validate_json(value.model_dump_json()) == value


def test_every_ranking_stays_a_distribution_over_the_taxonomy(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = sensible
    with second_reader(config) as reader:
        value = reader.triage(REPORT, knowledge).triage
    for axis in AXES:
        ranking = getattr(value, axis).ranking
        assert {r.id for r in ranking} <= set(knowledge.taxonomy.ids(axis))
        assert sum(r.p for r in ranking) == pytest.approx(1, abs=0.01)
