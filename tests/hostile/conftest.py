"""The real core, loaded once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from knowledge.engine import Knowledge, triage
from knowledge.report import Report
from knowledge.triage import Triage


@pytest.fixture(scope="session")
def real_core(knowledge: Knowledge) -> Callable[[Report], Triage]:
    """The engine on shipped data."""
    return lambda report: triage(report, knowledge)
