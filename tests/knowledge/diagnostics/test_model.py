"""The model is a proper distribution for every cause, and its posterior is exact."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge.diagnostics.model import KNOWN, Model, Sign, base_rates, model_of
from knowledge.diagnostics.probe import CAUSES, Probe, by_id, catalogue

PROBES = st.lists(st.sampled_from(catalogue()), unique_by=lambda probe: probe.id, max_size=40)
FEW = st.lists(st.sampled_from(catalogue()), unique_by=lambda probe: probe.group, min_size=1, max_size=3)


@given(PROBES)
def test_the_manifestations_of_a_cause_sum_to_less_than_one(probes: list[Probe]) -> None:
    for shares in model_of(probes).shares.values():
        assert all(share > 0 for share in shares.values())
        assert sum(shares.values()) <= KNOWN + 1e-9


@given(PROBES)
def test_the_readings_of_a_group_are_a_distribution_wherever_the_fault_is(probes: list[Probe]) -> None:
    model = model_of(probes)
    for group, place in model.places.items():
        assert place.quiet > 0.5
        assert sum(place.elsewhere().values()) == pytest.approx(1.0)
        for cause in CAUSES:
            if group in model.shares[cause]:
                assert sum(place.shown(cause).values()) == pytest.approx(1.0)


@given(st.sampled_from([probe for probe in catalogue() if probe.scope != "between"]), st.sampled_from(CAUSES))
def test_a_probe_keeps_the_order_of_its_table(probe: Probe, cause: str) -> None:
    """A finding speaks for the causes that its table names, and the more the higher `p`."""
    model = model_of([probe])
    for outcome in probe.outcomes:
        if outcome.finding:
            ratios = model.likelihood({probe.group: outcome.id})
            table = outcome.p.get(cause, outcome.otherwise) / outcome.otherwise
            assert 1 - KNOWN < ratios[cause] <= table + 1e-9


def test_a_cause_whose_shares_fit_keeps_the_figures_of_its_table() -> None:
    probe = by_id()["checkpoint_keys"]
    wrapped = probe.outcome("wrapped")
    assert wrapped is not None
    ratios = model_of([probe]).likelihood({"checkpoint": "wrapped"})
    assert ratios["wrapped_model_state"] == pytest.approx(
        wrapped.p["wrapped_model_state"] / wrapped.otherwise
    )


@given(PROBES, st.sampled_from(CAUSES))
def test_a_healthy_group_takes_its_own_share_of_a_cause_and_no_more(probes: list[Probe], cause: str) -> None:
    model = model_of(probes)
    healthy = dict.fromkeys(model.places)
    assert model.likelihood(healthy)[cause] == pytest.approx(1 - sum(model.shares[cause].values()))
    for group in model.places:
        assert model.likelihood({group: None})[cause] == pytest.approx(
            1 - model.shares[cause].get(group, 0.0)
        )


def joint(model: Model, cause: str, readings: dict[str, Sign | None]) -> float:
    """P(readings | cause): the manifestations enumerated, the groups independent given each."""
    places = {**model.shares[cause], "nowhere": 1 - sum(model.shares[cause].values())}
    total = 0.0
    for where, share in places.items():
        p = share
        for group, place in model.places.items():
            odds = place.shown(cause) if group == where else place.elsewhere()
            p *= odds.get(readings[group], 0.0)
        total += p
    return total


@settings(max_examples=40, deadline=None)
@given(FEW)
def test_on_average_the_true_cause_never_loses(probes: list[Probe]) -> None:
    """Over all readings that the model can draw, and for every cause: the expected log score does not fall."""
    model, prior = model_of(probes), base_rates()
    every = [
        dict(zip(model.places, signs, strict=True))
        for signs in product(*(place.elsewhere() for place in model.places.values()))
    ]
    after = [model.posterior(prior, readings) for readings in every]
    for cause in CAUSES:
        odds = [joint(model, cause, readings) for readings in every]
        assert sum(odds) == pytest.approx(1.0)
        gain = sum(
            p * math.log(moved[cause] / prior[cause]) for p, moved in zip(odds, after, strict=True) if p > 0
        )
        assert gain >= -1e-9


@settings(max_examples=40, deadline=None)
@given(FEW, st.data())
def test_the_posterior_is_bayes_rule_over_the_manifestations(
    probes: list[Probe], data: st.DataObject
) -> None:
    model, prior = model_of(probes), base_rates()
    readings = {
        group: data.draw(st.sampled_from(list(place.elsewhere()))) for group, place in model.places.items()
    }
    raw = {cause: prior[cause] * joint(model, cause, readings) for cause in CAUSES}
    moved = model.posterior(prior, readings)
    for cause in CAUSES:
        assert moved[cause] == pytest.approx(raw[cause] / sum(raw.values()))
