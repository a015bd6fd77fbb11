"""The second reader in the service: whoever waits too long, or fails, gets the local answer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from bot.ports import Compared, CoreFailed
from bot.runtime.llm_setup import llm_config
from bot.runtime.metrics import LlmMetrics
from bot.runtime.second_reader_pool import TwoReaders, with_second_reader
from bot.settings import Settings, load_settings
from knowledge.engine import Knowledge
from knowledge.report import Report
from knowledge.triage import SecondReading, Triage
from llm.fusion import Measured, load_weights, write_measured
from llm.values import LlmConfig
from tests.bot.fake_core import FakeCore, a_triage
from tests.conftest import CACHE
from tests.llm.fake_server import Answer, FakeLlm
from tests.llm.second_readers import second_reader, sensible

REPORT = Report("acme/train#1", "Hang", "It hangs.")
CONFIG = LlmConfig("http://x", "m", concurrency=1, timeout=19.7)
SOON = LlmConfig("http://x", "m", concurrency=1, timeout=0.5)
USED = SecondReading(
    used=True, duties=["reader"], model="m", tokens_in=10, tokens_out=5, cost=0.25, seconds=1.5
)


def seconded(report: Report) -> Triage:
    return a_triage(report, second_reading=USED)


def failing(report: Report) -> Triage:
    raise CoreFailed("the triage process died or hung")


def test_the_second_reader_answers() -> None:
    local = FakeCore()
    assert TwoReaders(local, FakeCore(seconded), CONFIG).triage(REPORT).second_reading == USED
    assert local.calls == 0


def test_a_second_reader_that_dies_leaves_the_local_answer() -> None:
    answer = TwoReaders(FakeCore(), FakeCore(failing), CONFIG).triage(REPORT)
    assert answer.second_reading == SecondReading(used=False, model="m", fallback_reason="busy")
    assert answer.symptom == a_triage(REPORT).symptom


class Comparing(FakeCore):
    """A core that compares."""

    def __init__(self, found: Compared | CoreFailed) -> None:
        super().__init__()
        self.found = found

    def compare(self, report: Report, earlier: Sequence[Report]) -> Compared:
        if isinstance(self.found, CoreFailed):
            raise self.found
        return self.found


def test_reports_are_compared_and_counted() -> None:
    registry = CollectorRegistry()
    metrics = LlmMetrics(registry)
    found = Compared("m", ("2",), tokens_in=7, tokens_out=3, cost=0.5, seconds=1.0)
    for told in (found, Compared("m"), Compared("m", fault="timeout"), CoreFailed("died")):
        both = TwoReaders(FakeCore(), Comparing(told), CONFIG, metrics)
        expected = told if isinstance(told, Compared) else Compared("m", fault="busy")
        assert both.compare(REPORT, [REPORT]) == expected
        both.close()
    value = registry.get_sample_value
    for outcome in ("same", "different", "timeout", "busy"):
        assert value("distriage_llm_comparisons_total", {"outcome": outcome}) == 1
    assert value("distriage_llm_tokens_total", {"direction": "in"}) == 7
    assert value("distriage_llm_cost_dollars_total") == 0.5


def test_comparing_comes_with_confirming() -> None:
    confirming = replace(CONFIG, duties=("confirmer",))
    found = [TwoReaders(FakeCore(), Comparing(Compared("m")), c) for c in (CONFIG, confirming)]
    assert [both.compares for both in found] == [False, True]


def test_whoever_finds_no_slot_in_time_gets_the_local_answer() -> None:
    inside, leave = threading.Event(), threading.Event()

    def slow(report: Report) -> Triage:
        inside.set()
        leave.wait(20)
        return seconded(report)

    both = TwoReaders(FakeCore(), FakeCore(slow), CONFIG)
    first = threading.Thread(target=both.triage, args=(REPORT,))
    first.start()
    assert inside.wait(10)
    start = time.monotonic()
    answer = both.triage(REPORT)
    assert time.monotonic() - start < 2
    assert answer.second_reading is not None
    assert answer.second_reading.fallback_reason == "busy"
    leave.set()
    first.join()
    assert both.triage(REPORT).second_reading == USED


def test_whatever_hangs_behind_the_slot_a_triage_waits_no_longer_than_the_bound() -> None:
    """A database, a process that loads, a deadline that is not kept: the bound here does not rest on theirs."""
    leave = threading.Event()

    def hanging(report: Report) -> Triage:
        leave.wait(30)
        return seconded(report)

    both = TwoReaders(FakeCore(), FakeCore(hanging), SOON, longest=1.0)
    start = time.monotonic()
    answers = [both.triage(REPORT) for _ in range(2)]  # the second finds the slot taken
    assert time.monotonic() - start < 1.0 + 0.5 + 1.0
    assert [a.second_reading and a.second_reading.fallback_reason for a in answers] == ["busy", "busy"]
    leave.set()
    both.close()


def test_waiting_for_the_slot_counts_towards_the_bound() -> None:
    started: list[float] = []

    def slow(report: Report) -> Triage:
        started.append(time.monotonic())
        time.sleep(0.9)
        return seconded(report)

    both = TwoReaders(FakeCore(), FakeCore(slow), SOON, longest=1.6)
    first = threading.Thread(target=both.triage, args=(REPORT,))
    first.start()
    time.sleep(0.2)
    start = time.monotonic()
    answer = both.triage(REPORT)  # 0.7 s for the slot, 0.9 s for the answer
    waited = time.monotonic() - start
    first.join()
    both.close()
    assert len(started) == 2
    assert answer.second_reading in (USED, SecondReading(used=False, model="m", fallback_reason="busy"))
    assert waited < 1.6 + 0.5


@pytest.mark.parametrize("drip", [False, True])
def test_a_slow_server_keeps_a_delivery_no_longer_than_its_time(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge, drip: bool
) -> None:
    """Reader and adjudicator together, on streams that drip or never start."""
    llm.brain = lambda body: replace(sensible(body), drip=0.05) if drip else Answer(silent=30)
    timed = replace(config, timeout=1.5, concurrency=1)
    with second_reader(timed) as reader:
        both = TwoReaders(
            FakeCore(), FakeCore(lambda r: reader.triage(r, knowledge).triage), timed, longest=4
        )
        start = time.monotonic()
        answer = both.triage(REPORT)
        assert time.monotonic() - start < 4
        both.close()
    assert answer.second_reading is not None
    assert (answer.second_reading.used, answer.second_reading.fallback_reason) == (False, "timeout")


def test_an_llm_that_was_measured_to_be_of_no_gain_costs_no_process(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, llm_base_url="http://x", llm_model="m")
    config = llm_config(settings)
    assert config is not None
    write_measured(tmp_path, config, Measured(load_weights(), False, "No significant gain on 338 reports."))
    local = FakeCore()
    assert with_second_reader(local, settings) is local


def test_metrics_tell_outcomes_tokens_cost_and_time() -> None:
    registry = CollectorRegistry()
    metrics = LlmMetrics(registry)
    TwoReaders(FakeCore(), FakeCore(seconded), CONFIG, metrics).triage(REPORT)
    TwoReaders(FakeCore(), FakeCore(failing), CONFIG, metrics).triage(REPORT)
    metrics.observe(None)
    value = registry.get_sample_value
    assert value("distriage_llm_triages_total", {"outcome": "used"}) == 1
    assert value("distriage_llm_triages_total", {"outcome": "busy"}) == 1
    assert value("distriage_llm_tokens_total", {"direction": "in"}) == 10
    assert value("distriage_llm_cost_dollars_total") == 0.25
    assert value("distriage_llm_seconds_count") == 2


def test_a_process_of_its_own_asks_and_answers(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole way of the service: settings of the environment, child process, socket, triage as JSON."""
    (tmp_path / "cache").mkdir()
    for name in ("model", "index"):  # made by the fixture `knowledge`
        (tmp_path / "cache" / name).symlink_to(CACHE / name)
    llm.brain = sensible
    monkeypatch.setenv("DISTRIAGE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("DISTRIAGE_LLM_BASE_URL", config.base_url)
    monkeypatch.setenv("DISTRIAGE_LLM_MODEL", config.model)
    monkeypatch.setenv("DISTRIAGE_LLM_CONCURRENCY", "1")
    local = FakeCore()
    both = with_second_reader(local, load_settings())
    assert isinstance(both, TwoReaders)
    try:
        answer = both.triage(REPORT)
        told = {"number": 1, "same": True, "lines": [0], "earlier_lines": [0], "why": "x"}
        llm.brain = lambda body: Answer(json.dumps({"verdicts": [told]}))
        found = both.compare(REPORT, [replace(REPORT, id="7")])
    finally:
        both.close()
    assert (found.same, found.model, found.fault) == (("7",), config.model, None)
    assert found.tokens_in > 0 < found.seconds
    assert answer.second_reading is not None
    assert answer.second_reading.duties == ["reader", "adjudicator"]
    assert local.calls == 0
    assert len(llm.requests) == 3
