"""The probes' table is a proper set of likelihoods, and each entry has its function."""

from __future__ import annotations

import inspect

import pytest
import re2

from knowledge.diagnostics.compose import source
from knowledge.diagnostics.probe import COLLECTORS, by_id, catalogue, read_probe
from knowledge.errors import DataError

MEASURED = [probe for probe in catalogue() if probe.scope != "between"]
OUTCOME = {"id": "bad", "says": "s", "why": "w", "otherwise": 0.01, "p": {"dependency": 0.2}}
HEALTHY = {"id": "ok", "says": "s", "why": "w", "finding": False}
ENTRY = {"id": "x", "title": "t", "reads": "r", "outcome": [OUTCOME, HEALTHY]}


def test_there_are_at_least_forty_probes_that_measure_something() -> None:
    assert len(MEASURED) >= 40


@pytest.mark.parametrize("probe", MEASURED, ids=lambda probe: probe.id)
def test_every_probe_has_a_function_that_gives_only_outcomes_of_its_table(probe) -> None:  # type: ignore[no-untyped-def]
    text = source().pieces[probe.function].text
    told = set(re2.findall(r'return \(?"([a-z_]+)"(?:,| if)', text))
    assert told - {"not_applicable"} <= {outcome.id for outcome in probe.outcomes}


@pytest.mark.parametrize("probe", catalogue(), ids=lambda probe: probe.id)
def test_every_likelihood_has_a_reason_and_every_outcome_a_sentence(probe) -> None:  # type: ignore[no-untyped-def]
    for outcome in probe.outcomes:
        assert outcome.why.endswith(".")
        assert outcome.says.endswith(".")


@pytest.mark.parametrize("probe", catalogue(), ids=lambda probe: probe.id)
def test_a_finding_speaks_for_a_cause_at_least_twice_as_often_as_for_others(probe) -> None:  # type: ignore[no-untyped-def]
    for outcome in probe.outcomes:
        if outcome.finding:
            assert max(outcome.p.values()) >= 1.4 * outcome.otherwise


def test_probes_use_collectors_that_exist_and_compare_facts_of_probes_that_exist() -> None:
    for probe in catalogue():
        assert set(probe.uses) <= set(COLLECTORS)
        assert set(probe.after) <= set(by_id())
        if probe.scope == "between":
            for name in probe.facts:
                id, _, fact = name.partition(".")
                assert fact in by_id()[id].facts, name


def test_a_collector_never_shares_a_name_with_a_probe() -> None:
    assert not set(COLLECTORS) & set(by_id())


def test_probes_stop_themselves_before_the_script_does() -> None:
    for probe in MEASURED:
        assert 0 < probe.cost_s <= probe.limit_s <= 45


def test_probe_functions_take_the_job_and_nothing_else() -> None:
    from knowledge.diagnostics.runtime import limits

    assert list(inspect.signature(limits.probe_shm_size).parameters) == ["job"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outcome": [OUTCOME]}, "needs an outcome that isn't a finding"),
        ({"outcome": [{**OUTCOME, "p": {"weather": 0.5}}, HEALTHY]}, "unknown causes"),
        ({"outcome": [{**OUTCOME, "otherwise": 0.0}, HEALTHY]}, "must be between 0 and 1"),
        ({"outcome": [{**OUTCOME, "p": {"dependency": 0.001}}, HEALTHY]}, "less often with"),
        ({"outcome": [{**OUTCOME, "p": {}}, HEALTHY]}, "at least one cause"),
        ({"outcome": [OUTCOME, {**HEALTHY, "otherwise": 0.2}]}, "only a finding has likelihoods"),
        ({"outcome": [{**OUTCOME, "p": {"dependency": 0.98}}, HEALTHY]}, "leaves nothing for the healthy"),
        ({"colour": "red"}, "unknown keys"),
    ],
)
def test_a_table_that_is_no_set_of_likelihoods_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_probe({**ENTRY, **change}, "t.toml")


def test_an_entry_without_title_is_refused() -> None:
    with pytest.raises(DataError, match="is missing"):
        read_probe({key: value for key, value in ENTRY.items() if key != "title"}, "t.toml")
