"""The LLM as a system of the evaluation."""

from __future__ import annotations

from dataclasses import replace

from bot.llm.budget import MemoryLedger
from bot.llm.calls import Caller
from bot.llm.config import LlmConfig
from bot.llm.eval_system import Scored, System, count_fabricated, run_system
from bot.llm.openai_client import OpenAiClient
from bot.llm.real_clock import RealClock
from bot.llm.reply_cache import NoCache
from bot.llm.second_reader import SecondReader
from knowledge.engine import Knowledge, triage
from knowledge.judging.axes import axis_ids
from knowledge.triage import AXES, Ranked, SecondReading
from tests.bot.llm.fake_server import Answer, FakeLlm
from tests.bot.llm.questions import REPORT
from tests.bot.llm.second_readers import schema_of, sensible


def run(system: System, config: LlmConfig, knowledge: Knowledge, count: int = 1) -> list[Scored]:
    reports = [replace(REPORT, id=f"a/b#{n}") for n in range(count)]
    with OpenAiClient(config) as client:
        clock = RealClock()
        caller = Caller(config, client, NoCache(), MemoryLedger(), clock)
        return run_system(system, reports, knowledge, config, caller, SecondReader(config, caller, clock))


def test_fused_rankings_come_with_cost_and_latency(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = sensible
    scored = run("distriage+llm", config, knowledge, count=4)
    assert [row.id for row in scored] == ["a/b#0", "a/b#1", "a/b#2", "a/b#3"]
    assert all(row.cost > 0 and row.seconds > 0 and row.fabricated == 0 for row in scored)
    assert set(scored[0].rankings) == set(AXES)


def test_the_llm_alone_sees_every_id_and_no_local_number(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = sensible
    (row,) = run("llm", config, knowledge)
    assert set(row.rankings["symptom"]) == set(axis_ids(knowledge.taxonomy, "symptom"))
    text = llm.requests[0]["messages"][1]["content"]
    assert "(local" not in text
    assert set(schema_of(llm.requests[0])["symptom"]["items"]["enum"]) == set(row.rankings["symptom"])


def test_the_llm_alone_without_an_answer_is_unscored(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = lambda body: Answer("no")
    (row,) = run("llm", config, knowledge)
    assert (row.rankings, row.fallback_reason) == ({}, "invalid_json")
    assert row.cost > 0


def test_fabrications_would_be_counted(knowledge: Knowledge) -> None:
    value = triage(REPORT, knowledge)
    assert count_fabricated(value, REPORT, knowledge) == 0
    note = SecondReading(used=True, model="m", lines=[1, 99], cases=["x/y#1"])
    stage = value.stage.model_copy(update={"ranking": [Ranked(id="Z", p=1.0)]})
    broken = value.model_copy(update={"second_reading": note, "stage": stage})
    assert count_fabricated(broken, REPORT, knowledge) >= 3
