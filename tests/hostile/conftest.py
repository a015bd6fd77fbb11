"""The real core, loaded once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.settings import load_settings
from knowledge.engine import load_knowledge, triage
from knowledge.report import Report
from knowledge.triage import Triage


@pytest.fixture(scope="session")
def real_core() -> Callable[[Report], Triage]:
    """The engine on shipped data; model and index are kept between runs, for they take a minute to make."""
    settings = load_settings()
    knowledge = load_knowledge(settings.model_dir, settings.data_dir / "cache")
    return lambda report: triage(report, knowledge)
