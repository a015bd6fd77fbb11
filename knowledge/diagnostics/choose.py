"""Choose the probes with the largest expected information about the causes still in play, within a time
budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from knowledge.diagnostics.likelihood import entropy, likelihood, posterior
from knowledge.diagnostics.probe import Probe

SEEN_FROM_ANOTHER_SIDE = 0.6
"""A second probe of a group adds little: only the strongest moves the causes."""
OFF_SYMPTOM = 0.25
OTHER_FRAMEWORK = 0.4
"""A probe of certain frameworks, where the report does not tell which it is."""
LEAST_BITS = 0.001
"""Below this a probe is not worth the reader's line."""
SHARE_OF_BUDGET = 0.7
"""Costs are typical times; the rest of the budget is for slow file systems."""
START_S = 2.0
AT_ONCE = 2.0
"""Probes that are under way at any time, on average: four may be, and slow ones wait for each other."""


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


@dataclass(frozen=True, slots=True)
class Budget:
    """What a script may cost: seconds of the reporter's time, and characters of code to read and to post."""

    seconds: float
    room: int
    code: Callable[[Probe], frozenset[str]]
    """The definitions that a probe needs; shared ones are paid once."""
    length: Callable[[Iterable[str]], int]
    """Characters of a set of definitions."""
    line: Callable[[Probe], int]
    """Characters that a probe takes beside its code."""


def worth(
    probes: Sequence[Probe], cause_p: Mapping[str, float], framework: str | None, symptom: str | None
) -> dict[str, float]:
    """Expected bits of every probe that is of use here, by its id."""
    total = sum(cause_p.values()) or 1.0
    causes = {cause: p / total for cause, p in cause_p.items()}
    bits = {}
    for probe in probes:
        if probe.scope == "between" or not fits(probe, framework):
            continue
        bits[probe.id] = expected_bits(causes, probe)
        if probe.symptoms and symptom and not symptom.startswith(probe.symptoms):
            bits[probe.id] *= OFF_SYMPTOM
        if probe.frameworks and not framework:
            bits[probe.id] *= OTHER_FRAMEWORK
    return bits


def choose(probes: Sequence[Probe], bits: Mapping[str, float], budget: Budget) -> list[Probe]:
    """Greedy by bits for the share of the budget that a probe takes; the most telling first.

    Ties fall to the earlier entry, so that the same diagnosis gives the same script.
    """
    left = {probe.id: probe for probe in probes if bits.get(probe.id, 0.0) >= LEAST_BITS}
    seconds, room = AT_ONCE * (budget.seconds * SHARE_OF_BUDGET - START_S), budget.room
    chosen: list[Probe] = []
    have: frozenset[str] = frozenset()
    groups: dict[str, int] = {}
    while left:
        value = {
            id: bits[id] * SEEN_FROM_ANOTHER_SIDE ** groups.get(one.group, 0) for id, one in left.items()
        }
        size = {id: budget.line(one) + budget.length(budget.code(one) - have) for id, one in left.items()}
        cost = {
            id: one.cost_s / (AT_ONCE * budget.seconds) + size[id] / budget.room for id, one in left.items()
        }
        best = max(left.values(), key=lambda one: value[one.id] / (cost[one.id] + 0.005))
        del left[best.id]
        if best.cost_s > seconds or size[best.id] > room or value[best.id] < LEAST_BITS:
            continue
        seconds, room = seconds - best.cost_s, room - size[best.id]
        have |= budget.code(best)
        groups[best.group] = groups.get(best.group, 0) + 1
        chosen.append(best)
    return sorted(chosen, key=lambda one: -bits[one.id])
