"""The second reader in the service: whoever waits too long, or fails, gets the local answer."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from bot.llm.config import LlmConfig
from bot.llm.metrics import LlmMetrics
from bot.llm.service_core import TwoReaders, with_second_reader
from bot.settings import load_settings
from bot.triage_process import CoreFailed
from knowledge.engine import Knowledge
from knowledge.report import Report
from knowledge.triage import SecondReading, Triage
from tests.bot.fake_core import FakeCore, a_triage
from tests.bot.llm.fake_server import FakeLlm
from tests.bot.llm.second_readers import sensible
from tests.conftest import CACHE

REPORT = Report("acme/train#1", "Hang", "It hangs.")
CONFIG = LlmConfig("http://x", "m", concurrency=1, timeout=19.7)
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
    finally:
        both.close()
    assert answer.second_reading is not None
    assert answer.second_reading.duties == ["reader", "adjudicator"]
    assert local.calls == 0
    assert len(llm.requests) == 2
