"""What an LLM adds that reads both texts: asked of doubtful pairs alone, and only what it confirms is shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bot.cli.evaluate import register
from eval.history import rank, shown_line
from eval.llm_history import read_both
from knowledge.history.tracker import Tracker
from knowledge.history.verifier import load_weights, worth_reading
from knowledge.signatures import SignatureTable
from llm.budget import MemoryLedger
from llm.calls import LlmAccess, NoCache
from llm.openai_client import OpenAiClient
from llm.values import LlmConfig
from tests.eval.test_duplicates import export, small
from tests.knowledge.history.tiny import WordEncoder
from tests.llm.fake_server import Answer, FakeLlm

SAME = {"number": 1, "same": True, "lines": [0], "earlier_lines": [0], "why": "x"}


@pytest.fixture
def access(config: LlmConfig) -> LlmAccess:
    return LlmAccess(config, MemoryLedger(), NoCache(), None, lambda: OpenAiClient(config))


def without_copies() -> Tracker:
    """A copy is shown without anybody's word."""
    tracker = small()
    return Tracker(tracker.posts[:-1], tracker.group[:-1])


def test_what_it_confirms_is_shown_and_nothing_else_changes(llm: FakeLlm, access: LlmAccess) -> None:
    tracker = without_copies()
    ranked = rank(tracker, WordEncoder(), replace(load_weights(), threshold=1.01))
    doubtful = [one for one in ranked if worth_reading(one.found)]
    assert doubtful and not any(one.shown for one in ranked)
    llm.brain = lambda body: Answer(json.dumps({"verdicts": [SAME]}))
    read = read_both(ranked, tracker.posts, access, SignatureTable())
    assert read.reports == len(doubtful) == len(llm.requests)
    shown = {one.id: one.shown for one in read.ranked}
    assert shown == {one.id: [w.record.id for w in worth_reading(one.found)][:1] for one in ranked}
    assert [one.near for one in read.ranked] == [one.near for one in ranked]
    assert "1.00 (" in shown_line([one for one in read.ranked if one.id == "6"])
    llm.brain = lambda body: Answer(json.dumps({"verdicts": [{**SAME, "same": False}]}))
    unmoved = read_both(ranked, tracker.posts, access, SignatureTable())
    assert list(unmoved.ranked) == ranked


def test_what_it_took_and_what_went_wrong_is_told(llm: FakeLlm, access: LlmAccess) -> None:
    tracker = without_copies()
    ranked = rank(tracker, WordEncoder(), replace(load_weights(), threshold=1.01))
    llm.brain = lambda body: Answer("no idea")
    read = read_both(ranked, tracker.posts, access, SignatureTable())
    told = read.took(access)
    assert "acme-7b read both texts" in told and f"Without an answer: invalid_json {read.reports}." in told
    assert "0.00 dollars" in told and not any(one.shown for one in read.ranked)


def test_the_command_has_the_configured_one_read(
    llm: FakeLlm, config: LlmConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = typer.Typer()
    register(app)
    llm.brain = lambda body: Answer(json.dumps({"verdicts": [SAME]}))
    arguments = ["eval", "duplicates", str(export(tmp_path)), "--llm"]
    assert "No LLM is configured" in str(CliRunner().invoke(app, arguments).exception)
    monkeypatch.setenv("DISTRIAGE_LLM_BASE_URL", config.base_url)
    monkeypatch.setenv("DISTRIAGE_LLM_MODEL", config.model)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "\nWith the LLM: " in result.stdout and "acme-7b read both texts" in result.stdout
