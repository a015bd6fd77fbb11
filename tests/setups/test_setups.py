"""Every broken set-up is found by its probe and moves a vague report to its true cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path

import pytest

from knowledge.diagnostics.compose import script_of
from knowledge.diagnostics.probe import catalogue
from knowledge.diagnostics.result import parse_result
from knowledge.diagnostics.update import update
from knowledge.engine import Knowledge
from tests.setups.judge import SETUPS, Priors, Verdict, apart, run_all
from tests.setups.machines import cluster
from tests.setups.model import Setup, met
from tests.setups.network_setups import over
from tests.setups.together import judged


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest, knowledge: Knowledge) -> Iterator[Mapping[str, Future[Verdict]]]:
    """The verdicts of the set-ups that were asked for and can be made here; one loaded product for all."""
    params = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    asked = {one["one"].id for one in params if "one" in one}
    possible = [one for one in SETUPS if one.id in asked and not one.missing()]
    with judged(possible, Priors(knowledge)) as coming:
        yield coming


@pytest.mark.parametrize("one", SETUPS, ids=[one.id for one in SETUPS])
def test_the_probe_finds_it_and_speaks_for_its_cause(
    one: Setup, verdicts: Mapping[str, Future[Verdict]]
) -> None:
    if missing := one.missing():
        pytest.skip(f"needs {', '.join(missing)}")
    verdict = verdicts[one.id].result()
    assert verdict.seen, sorted(verdict.found)
    assert verdict.seconds <= 60.5
    assert verdict.whole.posterior[one.cause] > 1.1 * verdict.cause_p.get(one.cause, 0.0), verdict.whole.moves


@pytest.mark.parametrize(
    ("which", "least", "bar"), [("all", 20, 0.85), ("held out", 12, 0.7)], ids=["all", "held-out"]
)
def test_the_true_cause_is_the_most_probable_often_enough(
    verdicts: Mapping[str, Future[Verdict]], which: str, least: int, bar: float
) -> None:
    asked = [one for one in SETUPS if one.id in verdicts and (which == "all" or one.held_out)]
    if len(asked) < least:
        pytest.skip(f"{len(asked)} set-ups were asked for, too few for a share")
    made = [verdicts[one.id].result() for one in asked]
    missed = sorted(one.setup.id for one in made if one.after != one.setup.cause)
    assert len(missed) <= (1 - bar) * len(made), missed


def test_two_healthy_machines_show_no_finding(tmp_path: Path) -> None:
    if missing := [need for need in ("root", "ip", "torch") if not met(need)]:
        pytest.skip(f"needs {', '.join(missing)}")
    every = [probe for probe in catalogue() if probe.scope != "between"]
    with cluster(tmp_path) as machines:
        script = tmp_path / "diagnose.sh"
        script.write_text(script_of(every), encoding="utf-8")
        before = apart(SETUPS[0], tmp_path)
        results = parse_result("".join(run_all(over(machines), script, tmp_path, before)))
    moved = update({}, results)
    # Nothing listens on port 22 of these machines, and nobody is asked over ssh without --hosts.
    assert [(one.probe, one.outcome) for one in moved.findings if one.probe != "ssh"] == []
    assert {result.answer("gloo_world").outcome for result in results} == {"ok"}  # type: ignore[union-attr]
    assert {result.answer("rehearsal").outcome for result in results} == {"met"}  # type: ignore[union-attr]
