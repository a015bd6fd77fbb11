"""docs/llm.md names every setting, every reason to fall back, every metric."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from bot.llm import openai_client, second_reader
from bot.llm.faults import BadReply, LlmFault, NotAsked, Unavailable
from bot.llm.metrics import LlmMetrics
from bot.settings import PREFIX, Settings

PAGE = (Path(__file__).parents[3] / "docs" / "llm.md").read_text("utf-8")
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
    assert len(names) == 5
    assert [name for name in names if f"`{name}" not in PAGE] == []
