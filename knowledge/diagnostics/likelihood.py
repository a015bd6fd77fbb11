"""P(outcome | cause) of a probe, and what a set of outcomes makes of a distribution over the causes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from knowledge.diagnostics.probe import CAUSES, NO_EVIDENCE, Probe

Weights = Mapping[str, float]
"""Cause id to the likelihood of what was seen."""


def likelihood(probe: Probe, outcome_id: str) -> Weights | None:
    """P(outcome | cause) for every cause; None when the outcome says nothing (not applicable, timed out,
    unknown)."""
    outcome = probe.outcome(outcome_id)
    if outcome is None or (outcome_id in NO_EVIDENCE and outcome.rest):
        return None
    if not outcome.rest:
        return {cause: outcome.p.get(cause, outcome.otherwise) for cause in CAUSES}
    others = [one for one in probe.outcomes if not one.rest]
    return {cause: 1.0 - sum(one.p.get(cause, one.otherwise) for one in others) for cause in CAUSES}


def strength(weights: Weights) -> float:
    """How far apart the likelihoods lie: log of the largest over the smallest, in nats."""
    return math.log(max(weights.values()) / min(weights.values()))


def posterior(cause_p: Mapping[str, float], seen: Iterable[Weights]) -> dict[str, float]:
    """Bayes' rule over the causes of `cause_p`, in log space; causes unknown to the probes keep an even
    likelihood."""
    logs = {cause: math.log(p) for cause, p in cause_p.items() if p > 0}
    for weights in seen:
        even = math.exp(sum(math.log(value) for value in weights.values()) / len(weights))
        for cause in logs:
            logs[cause] += math.log(weights.get(cause, even))
    top = max(logs.values(), default=0.0)
    raw = {cause: math.exp(logs[cause] - top) if cause in logs else 0.0 for cause in cause_p}
    total = sum(raw.values())
    return {cause: value / total for cause, value in raw.items()} if total else dict(cause_p)


def entropy(cause_p: Mapping[str, float]) -> float:
    """Entropy in bits."""
    return -sum(p * math.log2(p) for p in cause_p.values() if p > 0)
