"""Recorded answers: replayed without a server, and still of use after training changed the questions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from eval.llm_cassette import Cassette, Head, recording, replaying
from knowledge.engine import Knowledge
from knowledge.errors import DataError
from llm.budget import MemoryLedger
from llm.calls import Caller, LlmAccess, NoCache
from llm.faults import NotRecorded
from llm.openai_client import OpenAiClient
from llm.second_reader import SecondReader
from llm.values import ChatRequest, LlmConfig, RealClock
from tests.llm.fake_server import FakeLlm
from tests.llm.questions import REPORT
from tests.llm.second_readers import sensible

HEAD = Head(model="m", duties=("adjudicator",))
SCHEMA = {
    "properties": {"fix": {"type": "array", "items": {"enum": ["a", "b"]}}, "reason": {"type": "string"}}
}
ASKED = ChatRequest("adjudicator", "s", "u", SCHEMA, "question", "report")
ANSWER = {"fix": ["b", "gone", "a"], "reason": "plain"}


def recorded(file: Path) -> Cassette:
    cassette = Cassette(file, HEAD)
    cassette.put(ASKED, ANSWER)
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
    assert cassette.get(ASKED) == ANSWER
    assert cassette.note == "The answers are recorded ones."
    assert cassette.get(moved) == {"fix": ["b", "a"], "reason": "plain"}
    assert "1 were given to an earlier question" in cassette.note


@pytest.mark.parametrize("damage", ["", "{", "[1]", '{"model": "m"}', '{"model": "m", "duties": ["cook"]}'])
def test_a_damaged_file_is_named(damage: str, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(damage)
    with pytest.raises(DataError, match=r"a\.jsonl"):
        replaying(file)


def test_answers_of_two_models_are_not_mixed(config: LlmConfig, tmp_path: Path) -> None:
    recorded(tmp_path / "a.jsonl")
    access = LlmAccess(config, MemoryLedger(), NoCache(), None, lambda: OpenAiClient(config))
    with pytest.raises(DataError, match="holds answers of m"):
        recording(tmp_path / "a.jsonl", access)
    with pytest.raises(DataError, match="packed"):
        recording(tmp_path / "a.jsonl.gz", access)
