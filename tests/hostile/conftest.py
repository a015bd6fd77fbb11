"""The real core, loaded once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from platformdirs import user_cache_path

from knowledge.engine import load_knowledge, triage
from knowledge.report import Report
from knowledge.triage import Triage


@pytest.fixture(scope="session")
def real_core() -> Callable[[Report], Triage]:
    """The engine on shipped data; model and index are kept between runs, for they take a minute to make."""
    knowledge = load_knowledge(None, user_cache_path("distriage-tests", appauthor=False))
    return lambda report: triage(report, knowledge)
