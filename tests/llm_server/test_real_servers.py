"""The client and the second reader against real OpenAI-compatible servers with a tiny random model.

The model's words are nonsense; its protocol, streaming, schema-constrained output and errors are real.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from eval.llm_systems import alone, fused
from knowledge.engine import Knowledge, triage
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import AXES
from llm import faults
from llm.budget import MemoryLedger
from llm.calls import Caller, NoCache
from llm.dialect import Dialect
from llm.duties import adjudicator_request, read_verdict, reader_request
from llm.openai_client import OpenAiClient
from llm.replies import ReaderReply, check, find_object
from llm.second_reader import SecondReader
from llm.values import LlmConfig, RealClock
from tests.llm.questions import REPORT, a_question, a_reading
from tests.llm.second_readers import second_reader

ASKED = adjudicator_request(a_question(), load_taxonomy(), "t" * 16)
SECONDS = 60.0


@pytest.fixture
def llama(llama_url: str) -> LlmConfig:
    return LlmConfig(llama_url, "tiny", timeout=20, max_output=400, price_output=1.0)


@pytest.fixture
def hf(transformers_url: str, transformers_model: Path) -> LlmConfig:
    return LlmConfig(transformers_url, str(transformers_model), timeout=20, max_output=60)


def test_llama_cpp_keeps_to_the_adjudicator_s_schema(llama: LlmConfig) -> None:
    with OpenAiClient(llama) as client:
        reply = client.complete(ASKED, SECONDS)
        assert client.dialect == Dialect()
    value = find_object(reply.text)
    question = a_question()
    assert set(value) == {*AXES, "reason", "lines", "cases"}
    # Random words may rank nothing, but nothing that was not shown.
    assert all(set(value[axis]) <= set(question.ids(axis)) for axis in AXES)
    assert reply.tokens.input > 500
    assert 10 < reply.tokens.output <= 400


def test_llama_cpp_keeps_to_the_reader_s_schema(llama: LlmConfig) -> None:
    request, _ = reader_request(a_reading(), "t" * 16)
    with OpenAiClient(llama) as client:
        reply = client.complete(request, SECONDS)
    value = find_object(reply.text)
    assert set(value) == {"account", "lines", "versions"}
    assert isinstance(check(ReaderReply, {**value, "account": value["account"] or "x"}), ReaderReply)


def test_llama_cpp_gives_an_object_in_json_mode(llama: LlmConfig) -> None:
    with OpenAiClient(llama) as client:
        client._dialect = Dialect(structure="json_object")
        assert isinstance(find_object(client.complete(ASKED, SECONDS).text), dict)


def test_llama_cpp_cut_off_at_the_token_limit_is_truncated(llama: LlmConfig) -> None:
    with OpenAiClient(replace(llama, max_output=3)) as client, pytest.raises(faults.Truncated):
        client.complete(ASKED, SECONDS)


def test_llama_cpp_without_room_for_the_prompt_is_a_bad_request(llama: LlmConfig) -> None:
    huge = replace(ASKED, user="overflow " * 60_000)
    with OpenAiClient(llama) as client, pytest.raises(faults.BadRequest):
        client.complete(huge, SECONDS)


def test_llama_cpp_is_left_at_the_deadline(llama: LlmConfig) -> None:
    slow = replace(ASKED, user="x y z " * 3000, schema={"type": "object"})
    start = time.monotonic()
    with OpenAiClient(replace(llama, max_output=20_000)) as client, pytest.raises(faults.LlmFault):
        client.complete(slow, 0.3)
    assert time.monotonic() - start < 5


def test_a_triage_with_llama_cpp_is_adjudicated(llama: LlmConfig, knowledge: Knowledge) -> None:
    with second_reader(replace(llama, duties=("adjudicator",), reason_mode="plain")) as reader:
        done = reader.triage(REPORT, knowledge)
    # Random words may rank nothing, which is void; whatever they rank are ids that were shown.
    assert (done.note.used, done.note.fallback_reason) in [(True, None), (False, "unknown_ids")]
    assert done.note.cost > 0
    assert done.triage.evidence == triage(REPORT, knowledge).evidence


def test_llama_cpp_that_refuses_the_schema_is_asked_for_json(llama: LlmConfig) -> None:
    odd = replace(ASKED, schema={"type": "object", "properties": {"a": {"type": "no such type"}}})
    with OpenAiClient(llama) as client:
        assert isinstance(find_object(client.complete(odd, SECONDS).text), dict)
        assert client.dialect == Dialect(structure="json_object")


def test_transformers_serve_ignores_the_schema_and_our_own_check_refuses_the_words(hf: LlmConfig) -> None:
    with OpenAiClient(hf) as client, pytest.raises(faults.BadReply):
        read_verdict(find_object(client.complete(ASKED, SECONDS).text), a_question())


def test_a_triage_with_transformers_serve_falls_back_to_the_local_answer(
    hf: LlmConfig, knowledge: Knowledge
) -> None:
    local = triage(REPORT, knowledge)
    with second_reader(hf) as reader:
        done = reader.triage(REPORT, knowledge)
    assert done.note.used is False
    assert done.note.fallback_reason in ("truncated", "invalid_json", "timeout")
    assert done.triage.model_copy(update={"second_reading": None}) == local


def test_transformers_serve_without_that_model_is_a_bad_request(hf: LlmConfig) -> None:
    with OpenAiClient(replace(hf, model="acme/another")) as client, pytest.raises(faults.Unavailable):
        client.complete(ASKED, SECONDS)


def test_an_evaluation_with_llama_cpp_counts_what_it_took(llama: LlmConfig, knowledge: Knowledge) -> None:
    """Random words rank at random; price and time are told all the same, and nothing made up comes out."""
    config = replace(llama, duties=("adjudicator",), reason_mode="plain", max_output=800)
    clock = RealClock()
    with OpenAiClient(config) as client:
        caller = Caller(config, client, NoCache(), MemoryLedger(), clock)
        together = fused(REPORT, knowledge, config, SecondReader(config, caller, clock)).verdict
        by_itself = alone(REPORT, knowledge, config, caller).verdict
    for verdict in (together, by_itself):
        assert verdict.usage is not None
        assert verdict.usage.asked and verdict.usage.tokens_in > 500 and verdict.usage.seconds > 0
        assert verdict.usage.cost > 0
        assert verdict.usage.fabricated == 0
    assert together.usage is not None and (together.usage.used or together.usage.faults == ["unknown_ids"])
    assert sum(p for _, p in together.axes["symptom"].ranking) == pytest.approx(1, abs=0.001)
