"""Recorded answers: replayed without a server, and still of use after training changed the questions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from eval.llm_cassette import Cassette, Head, recording, replaying
from knowledge.engine import Knowledge
from knowledge.errors import DataError
from llm.budget import MemoryLedger
from llm.calls import Caller, Kept, LlmAccess, NoCache
from llm.faults import NotRecorded
from llm.openai_client import OpenAiClient
from llm.second_reader import Course, SecondReader
from llm.values import RANKING, ChatRequest, LlmConfig, RealClock, Tokens, Took
from tests.llm.fake_server import Answer, Body, FakeLlm
from tests.llm.questions import REPORT
from tests.llm.second_readers import a_draft, duty_of, sensible

HEAD = Head(model="m", duties=("adjudicator",))
SCHEMA = {
    "properties": {"fix": {"type": "array", "items": {"enum": ["a", "b"]}}, "reason": {"type": "string"}}
}
ASKED = ChatRequest("adjudicator", "s", "u", SCHEMA, "question", "report")
ANSWER = {"fix": ["b", "gone", "a"], "reason": "plain"}
TOOK = Took(Tokens(4000, 200), 1.25)


def invents_once(body: Body) -> Answer:
    """A sensible model whose first draft names a variable that does not exist."""
    again = "It refused:" in body["messages"][1]["content"]
    if duty_of(body) == "writer" and not again:
        return Answer(json.dumps(a_draft(body, "Set `NCCL_NO_SUCH_SWITCH` on each rank.")))
    return sensible(body)


def course_of(access: LlmAccess, knowledge: Knowledge) -> Course:
    with access.client() as client:
        caller = Caller(access.config, client, access.cache, access.ledger, RealClock())
        return SecondReader(access.config, caller, RealClock()).triage(REPORT, knowledge).course


def recorded(file: Path) -> Cassette:
    cassette = Cassette(file, HEAD)
    cassette.put(ASKED, Kept(ANSWER, TOOK))
    return cassette


def test_a_run_is_recorded_and_replayed_without_the_server(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge, tmp_path: Path
) -> None:
    llm.brain = sensible
    file = tmp_path / "answers.jsonl"

    def verdict(access: LlmAccess) -> object:
        with access.client() as client:
            caller = Caller(access.config, client, access.cache, access.ledger, RealClock())
            done = SecondReader(access.config, caller, RealClock()).triage(REPORT, knowledge)
        assert done.note.used
        return done.judgement["symptom"].ranking

    access = LlmAccess(config, MemoryLedger(), NoCache(), None, lambda: OpenAiClient(config))
    live = verdict(recording(file, access))
    asked = len(llm.requests)
    assert asked == 2
    assert verdict(replaying(file)) == live
    assert verdict(recording(file, access)) == live
    assert len(llm.requests) == asked
    assert REPORT.title not in file.read_text()


def test_what_is_not_recorded_is_a_fault_and_asks_nobody(tmp_path: Path) -> None:
    recorded(tmp_path / "a.jsonl")
    access = replaying(tmp_path / "a.jsonl")
    other = replace(ASKED, content_key="another", subject="another report")
    with access.client() as client:
        caller = Caller(access.config, client, access.cache, access.ledger, RealClock())
        with pytest.raises(NotRecorded):
            caller.ask(other, dict, "", RealClock().monotonic() + 5)


def test_an_answer_to_an_earlier_question_stands_with_what_is_still_shown(tmp_path: Path) -> None:
    recording_one = recorded(tmp_path / "a.jsonl")
    moved = replace(ASKED, content_key="after training")
    assert recording_one.get(moved) is None, "while it records it asks"
    cassette = Cassette(tmp_path / "a.jsonl")
    assert cassette.get(ASKED) == Kept(ANSWER, TOOK)
    assert cassette.note == "The answers are recorded ones."
    assert cassette.get(moved) == Kept({"fix": ["b", "a"], "reason": "plain"}, TOOK)
    assert "1 were given to an earlier question" in cassette.note


def test_answers_recorded_before_figures_were_kept_are_replayed_without_them(tmp_path: Path) -> None:
    file = tmp_path / "old.jsonl"
    entry = {"duty": "adjudicator", "question": "question", "subject": "report", "answer": ANSWER}
    file.write_text(f"{HEAD.model_dump_json()}\n{json.dumps(entry)}\n")
    assert Cassette(file).get(ASKED) == Kept(ANSWER, None)


def test_estimated_tokens_are_recorded_as_such(tmp_path: Path) -> None:
    took = Took(Tokens(10, 2, estimated=True), 0.5)
    Cassette(tmp_path / "a.jsonl", HEAD).put(ASKED, Kept(ANSWER, took))
    kept = Cassette(tmp_path / "a.jsonl").get(ASKED)
    assert kept is not None and kept.took is not None and kept.took.tokens.estimated


def test_a_written_answer_is_replayed_with_both_drafts_after_training_changed_the_questions(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge, tmp_path: Path
) -> None:
    llm.brain = invents_once
    file = tmp_path / "answers.jsonl"
    writing = replace(config, duties=(*RANKING, "writer"), timeout=20)
    access = LlmAccess(writing, MemoryLedger(), NoCache(), None, lambda: OpenAiClient(writing))
    live = course_of(recording(file, access), knowledge)
    duties = ["reader", "adjudicator", "writer", "writer", "verifier"]
    assert [call.duty for call in live.calls] == duties
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert rows[0]["duties"] == ["reader", "adjudicator"], (
        "answers of the writer may be added to any cassette"
    )
    for number, row in enumerate(rows[1:]):
        row["question"] = f"asked before training {number}"
    file.write_text("\n".join(map(json.dumps, rows)))
    replayed = course_of(replaying(file), knowledge)
    assert replayed.answer == live.answer is not None
    assert [(call.duty, call.cached) for call in replayed.calls] == [(duty, True) for duty in duties]
    assert [call.took and call.took.tokens for call in replayed.calls] == [Tokens(1000, 100)] * 5
    assert replayed.tokens == Tokens(), "nothing is spent on a replay"


def test_a_cassette_without_written_answers_asks_no_writer(tmp_path: Path) -> None:
    recorded(tmp_path / "a.jsonl")
    access = replaying(tmp_path / "a.jsonl", 0.2, 0.8)
    assert access.config.duties == ("adjudicator",)
    assert (access.config.price_input, access.config.price_output) == (0.2, 0.8)


@pytest.mark.parametrize("damage", ["", "{", "[1]", '{"model": "m"}', '{"model": "m", "duties": ["cook"]}'])
def test_a_damaged_file_is_named(damage: str, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(damage)
    with pytest.raises(DataError, match=r"a\.jsonl"):
        replaying(file)


def test_answers_of_two_models_are_not_mixed(config: LlmConfig, tmp_path: Path) -> None:
    recorded(tmp_path / "a.jsonl")
    access = LlmAccess(config, MemoryLedger(), NoCache(), None, lambda: OpenAiClient(config))
    with pytest.raises(DataError, match="contains answers from m"):
        recording(tmp_path / "a.jsonl", access)
    with pytest.raises(DataError, match="gzipped"):
        recording(tmp_path / "a.jsonl.gz", access)
