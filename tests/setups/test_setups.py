"""Every broken set-up is found by its probe and moves a vague report to its true cause."""

from __future__ import annotations

import pytest

from tests.setups.judge import SETUPS, Priors, judge
from tests.setups.model import Setup


@pytest.fixture(scope="module")
def priors(tmp_path_factory: pytest.TempPathFactory) -> Priors:
    """One loaded product for all set-ups."""
    return Priors(tmp_path_factory.mktemp("cache"))


@pytest.mark.parametrize("one", SETUPS, ids=[one.id for one in SETUPS])
def test_the_probe_finds_it_and_the_cause_becomes_the_most_probable(one: Setup, priors: Priors) -> None:
    if missing := one.missing():
        pytest.skip(f"needs {', '.join(missing)}")
    verdict = judge(one, priors)
    assert verdict.seen, sorted(verdict.found)
    assert verdict.after == one.cause, verdict.update.moves
    assert verdict.seconds <= 60.5
