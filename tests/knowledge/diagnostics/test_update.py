"""The causes move by what was measured, one group one voice, and the answer can say why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.diagnostics import CAUSES, ProbeResult, by_id, catalogue, update
from knowledge.diagnostics.likelihood import LEAST, likelihood, posterior
from knowledge.diagnostics.prior import base_rates, opened
from knowledge.diagnostics.result import ProbeAnswer

HANGS = {
    "communication_configuration": 0.5,
    "network_environment": 0.2,
    "dependency": 0.2,
    "resource_limits": 0.1,
}


def found(
    *answers: tuple[str, str], rank: int | None = None, host: str = "host-aaaaaa", **facts: object
) -> ProbeResult:
    """A result with these outcomes; the facts go to every answer."""
    probes = [ProbeAnswer(id=id, outcome=outcome, seconds=0.0, facts=facts) for id, outcome in answers]  # type: ignore[arg-type]
    return ProbeResult(
        schema="distriage-result/1",
        script="0" * 12,
        host=host,
        rank=rank,
        world_size=2,
        platform="linux",
        python="3.11.2",
        started=0,
        seconds=1.0,
        probes=probes,
        checksum=f"{rank or 0:064x}",
    )


def top(causes: dict[str, float]) -> str:
    """The most probable cause."""
    return max(causes, key=causes.__getitem__)


def test_no_result_moves_nothing() -> None:
    assert update(HANGS, []).posterior == HANGS


def test_what_does_not_apply_moves_nothing_and_is_counted() -> None:
    moved = update(HANGS, [found(("shm_size", "not_applicable"), ("ssh", "timed_out"))])
    assert moved.posterior == HANGS
    assert moved.moves == ()
    assert moved.notes == ("2 probes did not apply there: shm_size, ssh.",)


def test_a_tiny_shm_makes_limits_the_most_probable_cause_and_says_so() -> None:
    moved = update(HANGS, [found(("shm_size", "tiny"))])
    assert top(moved.posterior) == "resource_limits"
    assert (moved.moves[0].probe, moved.moves[0].cause) == ("shm_size", "resource_limits")
    assert moved.moves[0].before < 0.15 < 0.5 < moved.moves[0].after
    assert "/dev/shm" in moved.moves[0].text
    assert moved.findings[0].who == ("host-aaaaaa",)


def test_healthy_outcomes_take_from_the_cause_they_watch() -> None:
    moved = update(HANGS, [found(("shm_size", "ok"), ("ulimits", "ok"))])
    assert moved.posterior["resource_limits"] < opened(HANGS)["resource_limits"]
    assert moved.findings == ()


def test_a_healthy_sibling_takes_nothing_from_a_cause_that_was_found() -> None:
    alone = update(HANGS, [found(("master_port", "held"))]).posterior["network_environment"]
    among = update(HANGS, [found(("master_port", "held"), ("own_name", "ok"), ("proxy", "none"))]).posterior
    assert among["network_environment"] == pytest.approx(alone, abs=0.02)


def test_of_one_group_only_the_strongest_counts() -> None:
    one = update(HANGS, [found(("rehearsal", "blocked"))])
    both = update(HANGS, [found(("rehearsal", "blocked"), ("master_port", "blocked"))])
    assert both.posterior == one.posterior
    assert len(both.findings) == 2


def test_a_blocked_way_explains_the_ranks_that_are_missing() -> None:
    moved = update(
        HANGS, [found(("rehearsal", "ranks_missing"), rank=0), found(("rehearsal", "blocked"), rank=1)]
    )
    assert top(moved.posterior) == "network_environment"


def test_unknown_probes_and_outcomes_are_left_out_and_counted() -> None:
    moved = update(HANGS, [found(("of_a_later_version", "odd"), ("shm_size", "odd"))])
    assert moved.posterior == HANGS
    assert any("not known to this version" in note for note in moved.notes)


def test_versions_that_differ_between_ranks_are_a_finding() -> None:
    results = [
        found(("package_versions", "ok"), rank=0, versions=["torch 2.4.1"]),
        found(("package_versions", "ok"), rank=1, host="host-bbbbbb", versions=["torch 2.5.0"]),
    ]
    moved = update({**HANGS, "inconsistent_processes": 0.1}, results)
    assert top(moved.posterior) == "inconsistent_processes"
    assert [one.text for one in moved.differences] == [
        "package_versions.versions: torch 2.4.1 on rank 0; torch 2.5.0 on rank 1"
    ]


def test_equal_ranks_show_no_difference() -> None:
    results = [found(("package_versions", "ok"), rank=rank, versions=["torch 2.4.1"]) for rank in (0, 1, 2)]
    moved = update(HANGS, results)
    assert moved.differences == ()
    assert moved.posterior["inconsistent_processes"] < opened(HANGS)["inconsistent_processes"]


def test_facts_from_the_paste_never_reach_the_answer_raw() -> None:
    results = [
        found(("package_versions", "ok"), rank=0, versions="@octocat `x` <img> #12"),
        found(("package_versions", "ok"), rank=1, versions="fine"),
    ]
    (difference,) = update(HANGS, results).differences
    assert not set(difference.text) & set("@#`<>")


def test_two_strong_findings_for_different_causes_are_a_contradiction() -> None:
    moved = update(HANGS, [found(("shm_size", "tiny"), ("master_resolves", "unresolvable"))])
    assert any("there may be two faults" in text for text in moved.contradictions)


def test_a_report_that_the_measurements_overturn_is_said() -> None:
    said = {"dependency": 0.6, "network_environment": 0.2, "other": 0.2}
    moved = update(said, [found(("master_resolves", "unresolvable"), ("shm_size", "ok"))])
    assert top(moved.posterior) == "network_environment"
    assert any("pointed to `dependency`" in text for text in moved.contradictions)


def test_a_cause_that_the_report_ruled_out_can_still_be_measured() -> None:
    moved = update({"dependency": 1.0}, [found(("cgroup_memory", "killed"))])
    assert moved.posterior["resource_limits"] > 0.01


def test_base_rates_sum_to_one_and_cover_all_causes() -> None:
    assert sum(base_rates().values()) == pytest.approx(1.0)
    assert set(base_rates()) == set(CAUSES)
    assert opened({}) == base_rates()


OUTCOMES = [
    (probe.id, outcome.id) for probe in catalogue() if probe.scope != "between" for outcome in probe.outcomes
]


@given(st.lists(st.sampled_from(OUTCOMES), max_size=12, unique_by=lambda pair: pair[0]))
def test_whatever_is_found_the_causes_stay_a_distribution(answers: list[tuple[str, str]]) -> None:
    moved = update(HANGS, [found(*answers)])
    assert sum(moved.posterior.values()) == pytest.approx(1.0)
    assert all(p > 0 for cause, p in moved.posterior.items() if cause in HANGS)


@given(st.sampled_from(OUTCOMES), st.sampled_from(CAUSES))
def test_a_finding_never_lowers_the_cause_that_it_speaks_for_most(pair: tuple[str, str], cause: str) -> None:
    probe, outcome = by_id()[pair[0]], by_id()[pair[0]].outcome(pair[1])
    ratios = likelihood(probe, pair[1])
    assert outcome is not None
    if ratios is None or not outcome.finding:
        return
    best = max(ratios, key=ratios.__getitem__)
    prior = {best: 0.3, **({cause: 0.7} if cause != best else {"other": 0.7})}
    assert posterior(prior, [ratios])[best] >= 0.3 - 1e-9


def test_healthy_outcomes_alone_never_rule_a_cause_out() -> None:
    healthy = [
        likelihood(probe, outcome.id) for probe in catalogue() for outcome in probe.outcomes if outcome.rest
    ]
    after = posterior(base_rates(), [ratios for ratios in healthy if ratios is not None])
    assert all(p >= LEAST * base_rates()[cause] for cause, p in after.items())
