"""What an outcome says about each cause, and what several outcomes make of a distribution over the causes.

A cause shows itself in one place: a wrong network is a wrong port or a wrong interface or a wrong name,
hardly all of them.
So the causes are mixtures of manifestations, one of which is true; the likelihood of everything seen,
relative to a machine
whose trouble lies elsewhere, is then 1 + sum over the probes of (ratio - 1). Findings add up, they do not
multiply, and a
healthy port takes nothing from a cause whose wrong interface was found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from knowledge.diagnostics.probe import CAUSES, NO_EVIDENCE, Probe

Ratios = Mapping[str, float]
"""Cause id to P(outcome | cause) / P(outcome | trouble elsewhere)."""
LEAST = 0.05
"""Healthy outcomes alone never take more than nineteen twentieths of a cause: probes do not see
everything."""


def likelihood(probe: Probe, outcome_id: str) -> Ratios | None:
    """Ratios of an outcome for every cause; None when it says nothing (not applicable, timed out,
    unknown)."""
    outcome = probe.outcome(outcome_id)
    if outcome is None or (outcome_id in NO_EVIDENCE and outcome.rest):
        return None
    if not outcome.rest:
        return {cause: outcome.p.get(cause, outcome.otherwise) / outcome.otherwise for cause in CAUSES}
    others = [one for one in probe.outcomes if not one.rest]
    elsewhere = 1.0 - sum(one.otherwise for one in others)
    return {
        cause: (1.0 - sum(one.p.get(cause, one.otherwise) for one in others)) / elsewhere for cause in CAUSES
    }


def strength(ratios: Ratios) -> float:
    """How far apart the causes come to lie: log of the largest ratio over the smallest, in nats."""
    return math.log(max(ratios.values()) / min(ratios.values()))


def posterior(cause_p: Mapping[str, float], seen: Iterable[Ratios]) -> dict[str, float]:
    """The causes after what was seen; a cause that the probes do not know keeps the ratio 1."""
    weight = dict.fromkeys(cause_p, 1.0)
    for ratios in seen:
        for cause in weight:
            weight[cause] += ratios.get(cause, 1.0) - 1.0
    raw = {cause: p * max(LEAST, weight[cause]) for cause, p in cause_p.items()}
    total = sum(raw.values())
    return {cause: value / total for cause, value in raw.items()} if total else dict(cause_p)


def entropy(cause_p: Mapping[str, float]) -> float:
    """Entropy in bits."""
    return -sum(p * math.log2(p) for p in cause_p.values() if p > 0)
