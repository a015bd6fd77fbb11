"""One report asked about for an evaluation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from eval.llm_systems import Answer as Told
from eval.llm_systems import alone, count_fabricated, fused
from eval.protocol import Usage
from knowledge.engine import Knowledge, triage
from knowledge.judging.axes import axis_ids
from knowledge.triage import Ranked, SecondReading
from llm.budget import MemoryLedger
from llm.calls import Caller, FileCache, NoCache, ReplyCache
from llm.openai_client import OpenAiClient
from llm.second_reader import SecondReader
from llm.values import DUTIES, RANKING, LlmConfig, RealClock
from tests.llm.fake_server import Answer, FakeLlm
from tests.llm.questions import REPORT
from tests.llm.second_readers import duty_of, schema_of, sensible


def ask(config: LlmConfig, knowledge: Knowledge, *, by: str, cache: ReplyCache | None = None) -> Told:
    with OpenAiClient(config) as client:
        clock = RealClock()
        caller = Caller(config, client, cache or NoCache(), MemoryLedger(), clock)
        if by == "llm":
            return alone(REPORT, knowledge, config, caller)
        return fused(REPORT, knowledge, config, SecondReader(config, caller, clock))


def usage_of(told: Told) -> Usage:
    assert told.verdict.usage is not None
    return told.verdict.usage


def test_a_fused_answer_comes_with_what_it_took(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = sensible
    told = ask(config, knowledge, by="distriage+llm")
    usage = usage_of(told)
    assert (usage.used, usage.asked, usage.cached, usage.faults) == (True, True, False, [])
    assert (usage.tokens_in, usage.tokens_out) == (2000, 200)
    assert usage.cost > 0 and usage.seconds > 0
    assert sum(p for _, p in told.verdict.axes["symptom"].ranking) > 0.99
    assert set(told.verdict.neighbours) <= set(knowledge.store.cases)
    assert told.course is not None and told.course.duties == ["reader", "adjudicator"]


def test_each_duty_tells_its_tokens_dollars_and_seconds(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = sensible
    for duties, by, asked in (
        (DUTIES, "distriage+llm", ["reader", "adjudicator", "confirmer", "writer", "verifier"]),
        (RANKING, "distriage+llm", ["reader", "adjudicator"]),
        (RANKING, "llm", ["adjudicator"]),
    ):
        usage = usage_of(ask(replace(config, duties=duties, timeout=20), knowledge, by=by))
        assert [call.duty for call in usage.calls] == asked
        assert all((call.tokens_in, call.tokens_out) == (1000, 100) for call in usage.calls)
        assert sum(call.cost or 0 for call in usage.calls) == pytest.approx(usage.cost)
        assert 0 < sum(call.seconds or 0 for call in usage.calls) <= usage.seconds + 0.01
        assert not any(call.kept or call.failed or call.estimated for call in usage.calls)


def test_a_duty_that_failed_tells_what_it_took_all_the_same(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = lambda body: Answer("no") if duty_of(body) == "reader" else sensible(body)
    for by, failed in (("distriage+llm", [True, False]), ("llm", [False])):
        usage = usage_of(ask(config, knowledge, by=by))
        assert [call.failed for call in usage.calls] == failed
        assert all(call.tokens_in == 1000 for call in usage.calls)


def test_tokens_that_the_server_does_not_report_are_marked_as_estimated(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = lambda body: replace(sensible(body), tell_usage=False)
    usage = usage_of(ask(replace(config, duties=("adjudicator",)), knowledge, by="distriage+llm"))
    (call,) = usage.calls
    assert call.estimated and call.tokens_in


def test_a_cached_answer_does_not_say_what_it_took(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge, tmp_path: Path
) -> None:
    llm.brain = sensible
    cache = FileCache(tmp_path, config)
    ask(config, knowledge, by="distriage+llm", cache=cache)
    usage = usage_of(ask(config, knowledge, by="distriage+llm", cache=cache))
    assert [(call.kept, call.seconds, call.tokens_in) for call in usage.calls] == [(True, None, None)] * 2


def test_an_answer_from_the_cache_is_told_to_be_one(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge, tmp_path: Path
) -> None:
    llm.brain = sensible
    for by, calls in (("distriage+llm", 2), ("llm", 3)):
        cache = FileCache(tmp_path / by, config)
        first, again = (usage_of(ask(config, knowledge, by=by, cache=cache)) for _ in range(2))
        assert (first.cached, first.asked) == (False, True)
        assert (again.cached, again.asked, again.cost, again.used) == (True, False, 0.0, True)
        assert len(llm.requests) == calls


def test_half_from_the_cache_counts_as_cached(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge, tmp_path: Path
) -> None:
    llm.brain = sensible
    cache = FileCache(tmp_path, config)
    ask(replace(config, duties=("reader",)), knowledge, by="distriage+llm", cache=cache)
    usage = usage_of(ask(config, knowledge, by="distriage+llm", cache=cache))
    assert (usage.cached, usage.asked) == (True, True)


def test_raw_fabrications_are_counted_and_none_comes_out(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    def brain(body: dict[str, object]) -> Answer:
        if duty_of(body) == "reader":
            return Answer('{"account": "It hangs.", "lines": [777], "versions": []}')
        return sensible(body, lines=[999], cases=["x/y#1"])

    llm.brain = brain
    usage = usage_of(ask(replace(config, reason_mode="plain"), knowledge, by="distriage+llm"))
    assert (usage.made_up, usage.voided, usage.fabricated) == (3, True, 0)


def test_ids_outside_the_set_count_as_a_void_answer(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = lambda body: sensible(body, symptom=["Z.9"])
    for by in ("distriage+llm", "llm"):
        usage = usage_of(ask(replace(config, duties=("adjudicator",)), knowledge, by=by))
        assert (usage.used, usage.voided, usage.faults, usage.fabricated) == (False, True, ["unknown_ids"], 0)


def test_the_llm_alone_sees_every_id_and_no_local_number(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = sensible
    told = ask(config, knowledge, by="llm")
    every = set(axis_ids(knowledge.taxonomy, "symptom"))
    assert {id_ for id_, p in told.verdict.axes["symptom"].ranking if p == 0.0} == every
    assert "(local" not in llm.requests[0]["messages"][1]["content"]
    assert set(schema_of(llm.requests[0])["symptom"]["items"]["enum"]) == every


def test_the_llm_alone_without_an_answer_is_unscored_and_paid(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = lambda body: Answer("no")
    told = ask(config, knowledge, by="llm")
    assert (told.verdict.axes, usage_of(told).faults) == ({}, ["invalid_json"])
    assert usage_of(told).cost > 0


def test_fabrications_would_be_counted(knowledge: Knowledge) -> None:
    value = triage(REPORT, knowledge)
    assert count_fabricated(value, REPORT, knowledge) == 0
    note = SecondReading(used=True, model="m", lines=[1, 99], cases=["x/y#1"])
    stage = value.stage.model_copy(update={"ranking": [Ranked(id="Z", p=1.0)]})
    broken = value.model_copy(update={"second_reading": note, "stage": stage})
    assert count_fabricated(broken, REPORT, knowledge) >= 3
