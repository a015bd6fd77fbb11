"""The writer and its verifier through the whole second reader, against the fake server."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from knowledge.engine import Knowledge, conclude, examine, triage
from knowledge.report import Report
from knowledge.triage import Triage
from llm.calls import FileCache
from llm.second_reader import dry_run
from llm.values import DUTIES, RANKING, LlmConfig
from llm.writer import QUESTION_TOKENS, writer_question, writer_request
from tests.llm.fake_server import Answer, Body, FakeLlm
from tests.llm.questions import REPORT
from tests.llm.second_readers import a_draft, duty_of, holding, second_reader, sensible


@pytest.fixture
def writing(config: LlmConfig) -> LlmConfig:
    return replace(config, duties=(*RANKING, "writer"), timeout=20)


def asked(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge, report: Report = REPORT, **more: Any
) -> Triage:
    with second_reader(config, **more) as reader:
        return reader.triage(report, knowledge).triage


def test_a_verified_answer_stands_in_the_triage_with_its_support(
    llm: FakeLlm, writing: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = sensible
    answer = asked(llm, writing, knowledge).answer
    assert answer is not None
    assert (answer.verified, answer.model) == (True, "acme-7b")
    assert [s.role for s in answer.sentences] == ["what", "check"]
    assert answer.sentences[0].lines
    assert [duty_of(body) for body in llm.requests] == ["reader", "adjudicator", "writer", "verifier"]


def test_a_silent_writer_leaves_no_answer_and_no_verifier_is_asked(
    llm: FakeLlm, writing: LlmConfig, knowledge: Knowledge
) -> None:
    silent = {"silent": "a question of style", "sentences": [], "commands": [], "code": []}
    llm.brain = lambda body: Answer(json.dumps(silent)) if duty_of(body) == "writer" else sensible(body)
    found = asked(llm, writing, knowledge)
    assert found.answer is None
    assert found.second_reading is not None
    assert found.second_reading.duties == ["reader", "adjudicator", "writer"]


def test_refuted_parts_go_and_without_the_core_so_does_the_answer(
    llm: FakeLlm, writing: LlmConfig, knowledge: Knowledge
) -> None:
    def brain(refuted: set[int]) -> Any:
        def answer(body: Body) -> Answer:
            if duty_of(body) == "writer":
                return Answer(json.dumps(a_draft(body, "Raise the timeout only when the step is slow.")))
            if duty_of(body) == "verifier":
                verdicts = json.loads(holding(body).text)["verdicts"]
                told = [{**v, "holds": v["number"] not in refuted} for v in verdicts]
                return Answer(json.dumps({"verdicts": told}))
            return sensible(body)

        return answer

    llm.brain = brain({3})
    kept = asked(llm, writing, knowledge).answer
    assert kept is not None
    assert [s.role for s in kept.sentences] == ["what", "check"]
    llm.brain = brain({1})
    assert asked(llm, writing, knowledge).answer is None


@pytest.mark.parametrize(
    "text", ["{}", "no", '{"verdicts": []}', '{"verdicts": [{"number": 99, "holds": true, "why": ""}]}']
)
def test_a_verifier_without_a_usable_word_leaves_the_answer_unverified(
    llm: FakeLlm, writing: LlmConfig, knowledge: Knowledge, text: str
) -> None:
    llm.brain = lambda body: Answer(text) if duty_of(body) == "verifier" else sensible(body)
    answer = asked(llm, writing, knowledge).answer
    assert answer is not None
    assert not answer.verified


INVENTED = "Set `NCCL_NO_SUCH_SWITCH` on each rank."


def writing_twice(second: Answer | None) -> Any:
    """A model whose first draft names what does not exist; `second` answers the request to write again."""

    def answer(body: Body) -> Answer:
        if duty_of(body) == "writer":
            again = "It refused:" in body["messages"][1]["content"]
            return second if again and second else Answer(json.dumps(a_draft(body, INVENTED)))
        return sensible(body)

    return answer


def test_a_draft_of_which_something_was_refused_is_written_again(
    llm: FakeLlm, writing: LlmConfig, knowledge: Knowledge
) -> None:
    def better(body: Body) -> Answer:
        if duty_of(body) == "writer" and "It refused:" in body["messages"][1]["content"]:
            return Answer(json.dumps(a_draft(body, "Set `NCCL_DEBUG=INFO` on each rank.")))
        return Answer(json.dumps(a_draft(body, INVENTED))) if duty_of(body) == "writer" else sensible(body)

    llm.brain = better
    answer = asked(llm, writing, knowledge).answer
    assert answer is not None
    assert [s.text for s in answer.sentences][2:] == ["Set `NCCL_DEBUG=INFO` on each rank."]
    duties = [duty_of(body) for body in llm.requests]
    assert duties == ["reader", "adjudicator", "writer", "writer", "verifier"], "once, and then it is checked"
    told = llm.requests[3]["messages"][1]["content"]
    assert "sentence 3: `NCCL_NO_SUCH_SWITCH` is a variable that you were not shown" in told
    assert INVENTED in told.partition("<<<DRAFT")[2].partition("<<<END DRAFT")[0]


@pytest.mark.parametrize(
    "second",
    [
        Answer("", status=500),
        Answer(json.dumps({"silent": "nothing is left", "sentences": [], "commands": [], "code": []})),
        None,
    ],
    ids=["fails", "silent", "the same again"],
)
def test_what_held_of_the_first_draft_stays_when_the_second_is_no_better(
    llm: FakeLlm, writing: LlmConfig, knowledge: Knowledge, second: Answer | None
) -> None:
    llm.brain = writing_twice(second)
    answer = asked(llm, writing, knowledge).answer
    assert answer is not None
    assert [s.role for s in answer.sentences] == ["what", "check"]


@pytest.mark.parametrize("reply", [Answer("nonsense"), Answer(status=500), Answer('{"silent": 1}')])
def test_a_failing_writer_changes_nothing_else(
    llm: FakeLlm, writing: LlmConfig, knowledge: Knowledge, reply: Answer
) -> None:
    llm.brain = sensible
    without = asked(llm, replace(writing, duties=("reader", "adjudicator")), knowledge)
    llm.brain = lambda body: reply if duty_of(body) == "writer" else sensible(body)
    found = asked(llm, writing, knowledge)
    assert found.answer is None
    assert found.model_copy(update={"second_reading": None}) == without.model_copy(
        update={"second_reading": None}
    )


def test_a_report_that_must_not_be_written_about_asks_no_writer(
    llm: FakeLlm, writing: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = sensible
    assert asked(llm, writing, knowledge, replace(REPORT, write=False)).answer is None
    assert [duty_of(body) for body in llm.requests] == ["reader", "adjudicator"]


def test_the_writer_is_dropped_when_time_is_short(
    llm: FakeLlm, writing: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = sensible
    asked(llm, replace(writing, timeout=2), knowledge)
    assert "writer" not in {duty_of(body) for body in llm.requests}


def test_a_slow_writer_is_late_and_the_next_attempt_gets_further(
    llm: FakeLlm, writing: LlmConfig, knowledge: Knowledge, tmp_path: Path
) -> None:
    slow = {"verifier"}
    llm.brain = lambda body: replace(sensible(body), silent=9.0 if duty_of(body) in slow else 0.0)
    hurried = replace(writing, timeout=6)
    first = asked(llm, hurried, knowledge, cache=FileCache(tmp_path, writing))
    assert first.second_reading is not None and first.second_reading.late
    assert first.answer is None or not first.answer.verified
    slow.clear()
    again = asked(llm, hurried, knowledge, cache=FileCache(tmp_path, writing))
    assert again.second_reading is not None and not again.second_reading.late
    assert again.answer is not None and again.answer.verified
    assert [duty_of(body) for body in llm.requests].count("writer") == 1, "what was heard is kept"


def test_the_same_answer_is_not_paid_for_twice(
    llm: FakeLlm, writing: LlmConfig, knowledge: Knowledge, tmp_path: Path
) -> None:
    llm.brain = sensible
    first = asked(llm, writing, knowledge, cache=FileCache(tmp_path, writing))
    again = asked(llm, writing, knowledge, cache=FileCache(tmp_path, writing))
    assert first.answer == again.answer is not None
    assert len(llm.requests) == 4


def test_the_question_holds_findings_cases_and_facts_and_keeps_its_budget(knowledge: Knowledge) -> None:
    body = REPORT.body + "\n".join(f"RuntimeError: number{n} {'of a log ' * 30}" for n in range(900))
    examined = examine(replace(REPORT, body=body), knowledge)
    found = conclude(examined, knowledge)
    question = writer_question(found, examined.reading)
    request = writer_request(question, "t" * 16)
    assert request.estimated <= QUESTION_TOKENS
    assert all(finding.id in request.user for finding in found.findings)
    assert "torch 2.3.0" in request.user
    assert question.shown.partly in request.user


def test_a_dry_run_shows_the_writer_question(config: LlmConfig, knowledge: Knowledge) -> None:
    shown = dry_run(REPORT, knowledge, replace(config, duties=DUTIES))
    assert [one["duty"] for one in shown] == list(DUTIES)


def test_a_dry_run_shows_no_writer_question_where_none_would_be_asked(
    config: LlmConfig, knowledge: Knowledge
) -> None:
    asked_for = Report(
        "octo/train#3", "Add a dark mode to the settings page", "Please add a dark mode. Thank you!"
    )
    shown = dry_run(asked_for, knowledge, replace(config, duties=("writer",)))
    assert shown == []


def test_a_weak_model_leaves_the_local_answer(llm: FakeLlm, writing: LlmConfig, knowledge: Knowledge) -> None:
    llm.brain = lambda body: Answer("lorem ipsum")
    found = asked(llm, writing, knowledge)
    kept = {"second_reading": None}
    assert found.model_copy(update=kept) == triage(REPORT, knowledge).model_copy(update=kept)
