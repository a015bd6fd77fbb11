"""The composition by the settings, the dry run, and what is not imported without an LLM."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bot.runtime.llm_setup import llm_config, open_second_reader
from bot.settings import Settings
from knowledge.engine import Knowledge
from knowledge.errors import SettingsError
from llm.second_reader import dry_run
from llm.values import LlmConfig
from tests.llm.fake_server import MODEL, FakeLlm
from tests.llm.questions import REPORT, without_token
from tests.llm.second_readers import second_reader, sensible


def test_without_an_llm_there_is_no_second_reader_and_no_sdk() -> None:
    code = (
        "import sys; from bot.settings import Settings; from bot.runtime.llm_setup import open_second_reader;"
        "from bot.runtime.second_reader_pool import with_second_reader; s = Settings();"
        "local = object(); assert with_second_reader(local, s) is local;"
        "r = open_second_reader(s); assert r.__enter__() is None;"
        "print([m for m in ('openai', 'llm.second_reader', 'llm.openai_client') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={})
    assert done.stdout.strip() == "[]"


def test_with_an_llm_it_triages(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge, tmp_path: Path
) -> None:
    llm.brain = sensible
    settings = Settings(
        data_dir=tmp_path,
        llm_base_url=config.base_url,
        llm_model=MODEL,
        llm_daily_budget=1.0,
        llm_price_input=0.2,
        llm_price_output=0.8,
    )
    with open_second_reader(settings) as reader:
        assert reader is not None
        assert reader.triage(REPORT, knowledge).note.used
    assert (tmp_path / "llm_spending.sqlite").exists()
    assert list((tmp_path / "cache" / "llm").glob("*/*.json"))


def test_a_budget_without_prices_is_refused() -> None:
    settings = Settings(llm_base_url="http://x", llm_model="m", llm_daily_budget=1.0)
    with pytest.raises(SettingsError, match="would have no effect"):
        llm_config(settings)


def test_every_llm_setting_arrives() -> None:
    settings = Settings(
        llm_base_url="http://x",
        llm_model="m",
        llm_api_key="k",  # type: ignore[arg-type]
        llm_timeout=7.0,
        llm_duties="adjudicator",
        llm_reason="plain",
        llm_answers_as="n",
        llm_daily_budget=1.0,
        llm_repository_daily_budget=0.5,
        llm_concurrency=3,
        llm_price_input=1.0,
        llm_price_output=2.0,
        llm_max_output=900,
        llm_use="always",
    )
    assert llm_config(settings) == LlmConfig(
        "http://x", "m", "k", "n", 7.0, ("adjudicator",), "plain", 1.0, 0.5, 3, 1.0, 2.0, 900, "always"
    )


def test_the_dry_run_shows_the_exact_requests_and_sends_none(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    shown = dry_run(REPORT, knowledge, config)
    assert llm.requests == []
    assert [request["duty"] for request in shown] == ["reader", "adjudicator"]
    assert "key-1" not in json.dumps(shown)
    assert shown[0]["url"] == f"{config.base_url}/chat/completions"
    llm.brain = sensible
    for duty, request in zip(("reader", "adjudicator"), shown, strict=True):
        llm.requests.clear()
        with second_reader(replace(config, duties=(duty,))) as reader:  # type: ignore[arg-type]
            reader.triage(REPORT, knowledge)
        assert without_token(llm.requests[0]) == without_token(request["body"])


def test_the_dry_run_says_what_it_cannot_show(config: LlmConfig, knowledge: Knowledge) -> None:
    reader, adjudicator = dry_run(REPORT, knowledge, config)
    assert "remark" not in reader
    assert "account" in adjudicator["remark"]
    (alone,) = dry_run(REPORT, knowledge, replace(config, duties=("adjudicator",)))
    assert "remark" not in alone
    assert {reader["report"], adjudicator["report"]} == {REPORT.id}


def test_the_dry_run_names_azure_s_address_and_hides_its_key(config: LlmConfig, knowledge: Knowledge) -> None:
    azure = "https://acme.openai.azure.com/openai/deployments/mini?api-version=2024-10-21"
    shown = dry_run(REPORT, knowledge, replace(config, base_url=azure, api_key="key-1"))[0]
    assert (
        shown["url"]
        == "https://acme.openai.azure.com/openai/deployments/mini/chat/completions?api-version=2024-10-21"
    )
    assert shown["headers"] == {"api-key": "***"}


def test_a_base_url_that_is_none_is_told_with_the_settings() -> None:
    with pytest.raises(SettingsError, match="isn't an http"):
        llm_config(Settings(llm_base_url="localhost:11434", llm_model="m"))
