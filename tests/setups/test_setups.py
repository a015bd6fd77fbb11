"""Every broken set-up is found by its probe and moves a vague report to its true cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge.diagnostics import catalogue, parse_result, script_of, update
from tests.setups.judge import SETUPS, Priors, judge, one_mpi, run_all
from tests.setups.machines import cluster
from tests.setups.model import Setup, met
from tests.setups.network_setups import over


@pytest.fixture(scope="module")
def priors(tmp_path_factory: pytest.TempPathFactory) -> Priors:
    """One loaded product for all set-ups."""
    return Priors(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def verdicts() -> dict[str, bool]:
    """Set-up id to whether its cause came out on top, filled by the tests of this module."""
    return {}


@pytest.mark.parametrize("one", SETUPS, ids=[one.id for one in SETUPS])
def test_the_probe_finds_it_and_speaks_for_its_cause(
    one: Setup, priors: Priors, verdicts: dict[str, bool]
) -> None:
    if missing := one.missing():
        pytest.skip(f"needs {', '.join(missing)}")
    verdict = judge(one, priors)
    verdicts[one.id] = verdict.right
    assert verdict.seen, sorted(verdict.found)
    assert verdict.seconds <= 60.5
    before = priors(one)[0].get(one.cause, 0.0)
    assert verdict.update.posterior[one.cause] > 1.4 * before, verdict.update.moves


def test_the_true_cause_is_the_most_probable_in_at_least_seventeen_of_twenty(
    verdicts: dict[str, bool],
) -> None:
    if len(verdicts) < 20:
        pytest.skip(f"{len(verdicts)} set-ups were run, 20 are needed")
    missed = sorted(id for id, right in verdicts.items() if not right)
    assert len(missed) <= 0.15 * len(verdicts), missed


def test_two_healthy_machines_show_no_finding(tmp_path: Path) -> None:
    if missing := [need for need in ("root", "ip", "torch") if not met(need)]:
        pytest.skip(f"needs {', '.join(missing)}")
    every = [probe for probe in catalogue() if probe.scope != "between"]
    with cluster(tmp_path) as machines:
        script = tmp_path / "diagnose.sh"
        script.write_text(script_of(every), encoding="utf-8")
        hide = one_mpi(SETUPS[0], tmp_path)
        results = parse_result("".join(run_all(over(machines), script, tmp_path, hide)))
    moved = update({}, results)
    # Nothing listens on port 22 of these machines, and nobody is asked over ssh without --hosts.
    assert [(one.probe, one.outcome) for one in moved.findings if one.probe != "ssh"] == []
    assert {result.answer("gloo_world").outcome for result in results} == {"ok"}  # type: ignore[union-attr]
    assert {result.answer("rehearsal").outcome for result in results} == {"met"}  # type: ignore[union-attr]
