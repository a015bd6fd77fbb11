"""`bot triage` with an LLM configured, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from bot.cli.app import app
from knowledge.engine import Knowledge
from knowledge.errors import UserError
from knowledge.triage import schema_text
from llm.fusion import Measured, load_weights, write_measured
from llm.values import LlmConfig
from tests.conftest import CACHE
from tests.llm.fake_server import Answer, FakeLlm
from tests.llm.questions import REPORT, a_result, without_token
from tests.llm.second_readers import sensible


class Command:
    """`bot` with the fake server in its settings, and a data folder of its own."""

    def __init__(self, config: LlmConfig, folder: Path) -> None:
        self.folder = folder
        self.config = config
        self.report = folder / "report.md"
        self.report.write_text(f"{REPORT.title}\n\n{REPORT.body}", "utf-8")
        (folder / "cache").mkdir()
        for name in ("model", "index"):  # made by the fixture `knowledge`
            (folder / "cache" / name).symlink_to(CACHE / name)
        self.env: dict[str, str | None] = {
            "DISTRIAGE_DATA_DIR": str(folder),
            "DISTRIAGE_LLM_BASE_URL": config.base_url,
            "DISTRIAGE_LLM_MODEL": config.model,
            "DISTRIAGE_LLM_API_KEY": "key-1",
        }

    def __call__(self, *args: str) -> Result:
        return CliRunner().invoke(app, list(args), env=self.env)

    def json(self, *args: str) -> Any:
        done = self(*args)
        assert done.exit_code == 0, done.exception
        return json.loads(done.stdout)


@pytest.fixture
def bot(llm: FakeLlm, config: LlmConfig, knowledge: Knowledge, tmp_path: Path) -> Command:
    llm.brain = sensible
    return Command(config, tmp_path)


def test_the_triage_says_what_the_llm_did_and_took(llm: FakeLlm, bot: Command) -> None:
    value = bot.json("triage", "--format", "json", str(bot.report))
    jsonschema.validate(value, json.loads(schema_text()))
    note = value["second_reading"]
    assert (note["used"], note["duties"]) == (
        True,
        ["reader", "adjudicator", "confirmer", "writer", "verifier"],
    )
    assert (note["tokens_in"], note["tokens_out"]) == (5000, 500)
    assert value["answer"]["verified"] is True
    told = " ".join(bot("triage", "--long", str(bot.report)).stdout.split())
    assert "acme-7b was used; 0 tokens" in told  # the same question again: from the cache
    assert "Verified answer, drafted by acme-7b what One process failed first" in told
    assert len(llm.requests) == 5


def test_the_dry_run_prints_what_is_then_sent(llm: FakeLlm, bot: Command) -> None:
    shown = bot.json("triage", "--dry-run", str(bot.report))
    assert llm.requests == []
    assert [one["duty"] for one in shown] == ["reader", "adjudicator", "confirmer", "writer"]
    bot("triage", str(bot.report))
    assert without_token(llm.requests[0]) == without_token(shown[0]["body"])
    assert "key-1" not in json.dumps(shown)


def test_a_batch_asks_for_every_report_and_its_dry_run_for_none(llm: FakeLlm, bot: Command) -> None:
    batch = bot.folder / "batch.jsonl"
    rows = [{"id": f"a/b#{n}", "title": f"Hang {n}", "body": REPORT.body} for n in range(2)]
    batch.write_text("\n".join(map(json.dumps, [*rows, {"no": "record"}])), "utf-8")
    shown = bot.json("triage", "--dry-run", str(batch))
    assert [one["report"] for one in shown] == ["a/b#0"] * 4 + ["a/b#1"] * 4
    assert llm.requests == []
    lines = [json.loads(line) for line in bot("triage", str(batch)).stdout.splitlines()]
    assert [line["second_reading"]["used"] for line in lines[:2]] == [True, True]
    assert len(llm.requests) == 10


def test_a_diagnostics_result_and_the_llm_go_together(llm: FakeLlm, bot: Command) -> None:
    result = bot.folder / "result.txt"
    result.write_text(a_result(), "utf-8")
    value = bot.json("triage", "--format", "json", "--result", str(result), str(bot.report))
    assert value["second_reading"]["used"] is True
    assert value["measured"]


def test_a_server_that_is_down_costs_nothing_but_a_remark(llm: FakeLlm, bot: Command) -> None:
    llm.brain = lambda body: Answer(status=500)
    done = bot("triage", str(bot.report))
    assert done.exit_code == 0
    assert "local answer only: server_error" in done.stdout


def test_an_llm_without_a_gain_is_not_asked_and_that_is_said(llm: FakeLlm, bot: Command) -> None:
    write_measured(
        bot.folder, bot.config, Measured(load_weights(), False, "No significant gain on 338 reports.")
    )
    done = bot("triage", "--format", "json", str(bot.report))
    assert json.loads(done.stdout)["second_reading"] is None
    assert "No significant gain on 338 reports. DISTRIAGE_LLM_USE=always" in done.stderr
    assert llm.requests == []


def test_without_an_llm_the_dry_run_says_what_to_set(bot: Command) -> None:
    bot.env |= {"DISTRIAGE_LLM_BASE_URL": None, "DISTRIAGE_LLM_MODEL": None}
    done = bot("triage", "--dry-run", str(bot.report))
    assert isinstance(done.exception, UserError)
    assert "No LLM is configured" in str(done.exception)
