"""docs/llm.md names every setting, every reason to fall back, every metric."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from typer.testing import CliRunner

from bot.cli.app import app
from bot.runtime.metrics import LlmMetrics
from bot.settings import PREFIX, Settings
from eval.summary import DECIDING, LEAST, LEVEL
from llm import openai_client, second_reader
from llm.dialect import address_of
from llm.faults import BadReply, LlmFault, NotAsked, Unavailable

PAGE = (Path(__file__).parents[2] / "docs" / "llm.md").read_text("utf-8")
ABSTRACT = {LlmFault, Unavailable, BadReply, NotAsked}


def kinds(kind: type[LlmFault] = LlmFault) -> Iterator[type[LlmFault]]:
    yield kind
    for below in kind.__subclasses__():
        yield from kinds(below)


@pytest.mark.parametrize("name", [name for name in Settings.model_fields if name.startswith("llm_")])
def test_every_setting_is_told(name: str) -> None:
    assert f"`{PREFIX}{name.upper()}`" in PAGE


def test_every_reason_is_told_and_none_twice() -> None:
    assert openai_client and second_reader  # everything that raises is imported
    reasons = [kind.reason for kind in kinds() if kind not in ABSTRACT]
    assert len(reasons) == len(set(reasons))
    assert [reason for reason in reasons if f"`{reason}`" not in PAGE] == []


def test_every_metric_is_told() -> None:
    registry = CollectorRegistry()
    LlmMetrics(registry)
    names = {family.name for family in registry.collect()}
    assert len(names) == 6
    assert [name for name in names if f"`{name}" not in PAGE] == []


def test_every_server_of_the_table_is_an_address_that_is_understood() -> None:
    table = PAGE.partition("| server |")[2].partition("\n\n")[0]
    urls = [cell.partition("`")[0] for cell in table.split("| `http")[1:]]
    assert len(urls) >= 6
    for url in urls:
        assert address_of(f"http{url}").url.partition("?")[0].endswith("/chat/completions")


def test_the_rule_is_told_with_its_numbers() -> None:
    rule = PAGE.partition("**The rule**")[2].partition("Otherwise it is not asked")[0]
    assert f"at least {LEAST} reports" in rule
    assert f"p below {LEVEL / len(DECIDING):g}" in rule
    assert ", ".join(DECIDING[:-1]) + f" or {DECIDING[-1]}" in rule


def test_the_commands_of_the_page_exist() -> None:
    shown = CliRunner().invoke(app, ["eval", "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"}).output
    told = set(re.findall(r"bot eval[^\n`]*", PAGE))
    options = {option for line in told for option in re.findall(r"--[a-z-]+", line)} | {"--fresh"}
    assert {"--fit-fusion", "--systems", "--report"} <= options
    assert [option for option in sorted(options) if option not in shown] == []
