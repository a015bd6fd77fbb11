"""Choose the probes with the largest expected information about the causes still in play, within a time
budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from knowledge.diagnostics.likelihood import entropy, likelihood, posterior
from knowledge.diagnostics.probe import Probe

SEEN_FROM_ANOTHER_SIDE = 0.4
"""A second probe of a group adds little: only the strongest moves the causes."""
OFF_SYMPTOM = 0.25
LEAST_BITS = 0.002
"""Below this a probe is not worth the reader's line."""
SHARE_OF_BUDGET = 0.7
"""Costs are typical times; the rest of the budget is for slow file systems."""
START_S = 2.0


def expected_bits(cause_p: Mapping[str, float], probe: Probe) -> float:
    """Expected fall of the entropy over the causes when this probe is run, in bits; its outcomes as its
    table has them."""
    before, gain = entropy(cause_p), 0.0
    for outcome in probe.outcomes:
        weights = likelihood(probe, outcome.id)
        if weights is None:
            continue
        chance = sum(p * weights.get(cause, 0.0) for cause, p in cause_p.items())
        if chance > 0:
            gain += chance * (before - entropy(posterior(cause_p, [weights])))
    return max(0.0, gain) * probe.applies


def fits(probe: Probe, framework: str | None) -> bool:
    """Whether a probe is of use for this framework; an unknown framework excludes none."""
    if not probe.frameworks or not framework:
        return True
    name = framework.lower().replace("-", "").replace("_", "")
    return any(known in name or name in known for known in probe.frameworks)


def choose(
    probes: Sequence[Probe],
    cause_p: Mapping[str, float],
    *,
    framework: str | None,
    symptom: str | None,
    budget_s: float,
    most: int = 200,
) -> list[Probe]:
    """Greedy by bits a second; ties fall to the earlier entry, so that the same diagnosis gives the same
    script.

    `most` bounds the number of probes.
    """
    total = sum(cause_p.values()) or 1.0
    causes = {cause: p / total for cause, p in cause_p.items()}
    worth = {}
    for probe in probes:
        if probe.scope == "between" or not fits(probe, framework):
            continue
        bits = expected_bits(causes, probe)
        if probe.symptoms and symptom and not symptom.startswith(probe.symptoms):
            bits *= OFF_SYMPTOM
        worth[probe.id] = bits
    left = {probe.id: probe for probe in probes if worth.get(probe.id, 0.0) >= LEAST_BITS}
    chosen: list[Probe] = []
    seconds = budget_s * SHARE_OF_BUDGET - START_S
    groups: dict[str, int] = {}
    while left and len(chosen) < most:
        best = max(left.values(), key=lambda one: _rate(one, worth[one.id], groups))
        del left[best.id]
        if best.cost_s > seconds or _rate(best, worth[best.id], groups) * _pace(best) < LEAST_BITS:
            continue
        seconds -= best.cost_s
        groups[best.group] = groups.get(best.group, 0) + 1
        chosen.append(best)
    return chosen


def _pace(probe: Probe) -> float:
    return 0.3 + probe.cost_s


def _rate(probe: Probe, bits: float, groups: Mapping[str, int]) -> float:
    return float(bits * SEEN_FROM_ANOTHER_SIDE ** groups.get(probe.group, 0) / _pace(probe))
