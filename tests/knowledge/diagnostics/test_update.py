"""The causes move by what was measured, one group one voice, and the answer can say why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.diagnostics.model import base_rates, opened
from knowledge.diagnostics.probe import CAUSES, catalogue
from knowledge.diagnostics.result import ProbeAnswer, ProbeResult
from knowledge.diagnostics.update import update

HANGS = {
    "communication_configuration": 0.5,
    "network_environment": 0.2,
    "dependency": 0.2,
    "resource_limits": 0.1,
}


def found(
    *answers: tuple[str, str],
    rank: int | None = None,
    host: str = "host-aaaaaa",
    started: int = 0,
    world: int | None = 2,
    **facts: object,
) -> ProbeResult:
    """A result with these outcomes; the facts go to every answer."""
    probes = [ProbeAnswer(id=id, outcome=outcome, seconds=0.0, facts=facts) for id, outcome in answers]  # type: ignore[arg-type]
    return ProbeResult(
        schema="distriage-result/1",
        script="0" * 12,
        host=host,
        rank=rank,
        world_size=world,
        platform="linux",
        python="3.11.2",
        started=started,
        seconds=1.0,
        probes=probes,
        checksum=f"{started:032x}{rank or 0:032x}",
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
    assert moved.moves[0].before < 0.15 < 0.4 < moved.moves[0].after
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


def test_what_two_probes_of_a_group_see_counts_once() -> None:
    one = update(HANGS, [found(("rehearsal", "blocked"))]).posterior["network_environment"]
    both = update(HANGS, [found(("rehearsal", "blocked"), ("master_port", "blocked"))])
    assert both.posterior["network_environment"] == pytest.approx(one, abs=0.1)
    assert both.posterior["network_environment"] <= one
    assert len(both.findings) == 2


def test_a_blocked_way_explains_the_ranks_that_are_missing() -> None:
    moved = update(
        HANGS, [found(("rehearsal", "ranks_missing"), rank=0), found(("rehearsal", "blocked"), rank=1)]
    )
    assert top(moved.posterior) == "network_environment"


def test_unknown_probes_and_outcomes_are_left_out_and_counted() -> None:
    moved = update(HANGS, [found(("of_a_later_version", "odd"), ("shm_size", "odd"))])
    assert moved.posterior == HANGS
    assert any("unknown to this version" in note for note in moved.notes)


def test_versions_that_differ_between_ranks_are_a_finding() -> None:
    results = [
        found(("package_versions", "ok"), rank=0, versions=["torch 2.4.1"]),
        found(("package_versions", "ok"), rank=1, host="host-bbbbbb", versions=["torch 2.5.0"]),
    ]
    moved = update({**HANGS, "inconsistent_processes": 0.1}, results)
    assert top(moved.posterior) == "inconsistent_processes"
    assert [one.text for one in moved.differences] == [
        "`package_versions.versions`: `torch 2.4.1` on rank 0; `torch 2.5.0` on rank 1"
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
    assert not set(difference.text.replace("`", "")) & set("@#<>")
    assert difference.text.split("`")[1::2] == ["package_versions.versions", "?octocat ?x? ?img? ?12", "fine"]


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
SILENT = [
    (probe.id, outcome)
    for probe in catalogue()
    if probe.scope != "between"
    for outcome in ["not_applicable", "crashed", "not_run", *(o.id for o in probe.outcomes if o.inconclusive)]
]
ANSWERS = st.lists(st.sampled_from(OUTCOMES), max_size=12, unique_by=lambda pair: pair[0])


@given(ANSWERS)
def test_whatever_is_found_the_causes_stay_a_distribution(answers: list[tuple[str, str]]) -> None:
    moved = update(HANGS, [found(*answers)])
    assert sum(moved.posterior.values()) == pytest.approx(1.0)
    assert all(p > 0 for cause, p in moved.posterior.items() if cause in HANGS)


@given(ANSWERS, st.lists(st.sampled_from(SILENT), max_size=12, unique_by=lambda pair: pair[0]))
def test_what_gave_no_answer_moves_nothing(
    answers: list[tuple[str, str]], silent: list[tuple[str, str]]
) -> None:
    answered = {id for id, _ in answers}
    extra = [pair for pair in silent if pair[0] not in answered]
    assert update(HANGS, [found(*answers, *extra)]).posterior == update(HANGS, [found(*answers)]).posterior


@given(st.lists(ANSWERS, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_blocks_and_of_probes_does_not_matter(
    blocks: list[list[tuple[str, str]]], chance
) -> None:  # type: ignore[no-untyped-def]
    one = [found(*answers, rank=rank) for rank, answers in enumerate(blocks)]
    other = [found(*chance.sample(answers, len(answers)), rank=rank) for rank, answers in enumerate(blocks)]
    chance.shuffle(other)
    first, second = update(HANGS, one), update(HANGS, other)
    assert second.posterior == first.posterior
    assert second.moves == first.moves
    assert second.contradictions == first.contradictions


@given(ANSWERS)
def test_the_steps_of_a_cause_chain_up_from_its_prior_to_its_posterior(
    answers: list[tuple[str, str]],
) -> None:
    moved = update(HANGS, [found(*answers)])
    for cause in {step.cause for step in moved.moves}:
        steps = [step for step in moved.moves if step.cause == cause]
        assert f"{steps[0].before:.0%}" == f"{opened(HANGS)[cause]:.0%}"
        assert [step.before for step in steps[1:]] == [step.after for step in steps[:-1]]
        assert f"{steps[-1].after:.0%}" == f"{moved.posterior[cause]:.0%}"


NO_ROUTE = {"network_environment": 0.7, "communication_configuration": 0.2, "inconsistent_processes": 0.1}
SIDE = (
    ("interface_choice", "unset"),
    ("own_name", "ok"),
    ("collective_env", "unset"),
    ("firewall", "none"),
    ("torch_build", "ok"),
    ("package_versions", "ok"),
    ("loopback", "ok"),
)


def test_healthy_side_probes_do_not_erase_a_right_cause() -> None:
    """The probes that could have seen it did not apply."""
    unseen = [(id, "not_applicable") for id in ("master_port", "master_resolves", "rehearsal", "gloo_world")]
    moved = update(NO_ROUTE, [found(*SIDE, *unseen)])
    assert top(moved.posterior) == "network_environment"
    assert moved.posterior["network_environment"] > 0.5


def test_a_later_run_replaces_an_earlier_one_of_the_same_process() -> None:
    old = found(("shm_size", "tiny"), ("ulimits", "few_files"), rank=0, started=1_700_000_000)
    new = found(("shm_size", "ok"), rank=0, started=1_700_090_000)
    moved = update(HANGS, [new, old])
    assert moved.differences == ()
    assert [one.outcome for one in moved.findings] == ["few_files"], "what was not run again still counts"


def test_a_later_run_on_another_machine_replaces_the_same_rank() -> None:
    old = found(("shm_size", "tiny"), rank=0, started=1_700_000_000)
    new = found(("shm_size", "ok"), rank=0, host="host-bbbbbb", started=1_700_090_000)
    assert update(HANGS, [old, new]).findings == ()


def test_two_processes_of_one_launch_with_one_rank_both_count() -> None:
    one = found(("shm_size", "tiny"), rank=0, started=1_700_000_000)
    other = found(("shm_size", "ok"), rank=0, host="host-bbbbbb", started=1_700_000_001)
    assert [one.probe for one in update(HANGS, [one, other]).findings] == ["shm_size"]


def test_an_upgrade_between_two_runs_is_no_difference_between_ranks() -> None:
    old = found(("package_versions", "ok"), rank=0, started=1_700_000_000, versions=["torch 2.1.0"])
    new = found(("package_versions", "ok"), rank=0, started=1_700_090_000, versions=["torch 2.4.0"])
    moved = update(HANGS, [old, new])
    assert moved.differences == ()
    assert all(one.probe != "versions_agree" for one in moved.findings)


def test_a_probe_that_came_to_no_answer_the_second_time_keeps_its_first() -> None:
    old = found(("shm_size", "tiny"), rank=0, started=1)
    new = found(("shm_size", "not_run"), rank=0, started=2)
    assert [one.outcome for one in update(HANGS, [old, new]).findings] == ["tiny"]


def test_an_unset_variable_counts_only_where_the_jobs_environment_was_seen() -> None:
    outside = found(("interface_choice", "unset"), ("library_paths", "unset"), world=None)
    assert update(HANGS, [outside]).posterior == HANGS
    inside = found(("interface_choice", "unset"), rank=0)
    assert update(HANGS, [inside]).posterior["network_environment"] < opened(HANGS)["network_environment"]


def test_one_probe_is_counted_in_the_singular() -> None:
    assert update(HANGS, [found(("ssh", "not_applicable"))]).notes == ("1 probe did not apply there: ssh.",)
