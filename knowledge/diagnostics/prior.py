"""What is left open before anything is measured: no cause is ruled out by a report's words alone."""

from __future__ import annotations

from collections.abc import Mapping

from knowledge.diagnostics.probe import CAUSES

# Distributed faults of study 1 by the cause that their fix tells of ("any" counts over all stages;
# crosswalk of the causes).
BASE_COUNTS: Mapping[str, int] = {
    "dependency": 123,
    "build_configuration": 17,
    "framework_defect": 53,
    "hardware": 13,
    "communication_configuration": 78,
    "network_environment": 32,
    "inconsistent_processes": 23,
    "device_placement": 40,
    "distributed_api_misuse": 58,
    "batch_or_partition": 24,
    "divergent_ranks": 23,
    "wrapped_model_state": 20,
    "model_construction": 20,
    "resource_limits": 16,
    "other": 53,
}
MISREAD = 0.1
"""Share kept for a report whose words mislead: a symptom tells its fix within three guesses in 0.44 of
the cases only."""


def base_rates() -> dict[str, float]:
    """Cause to its share among all distributed faults of study 1."""
    total = sum(BASE_COUNTS.values())
    return {cause: BASE_COUNTS[cause] / total for cause in CAUSES}


def opened(cause_p: Mapping[str, float]) -> dict[str, float]:
    """The distribution with a tenth of its mass spread by the base rates; an empty one becomes the base
    rates."""
    total = sum(cause_p.values())
    rates = base_rates()
    if total <= 0:
        return rates
    names = dict.fromkeys([*cause_p, *rates])
    return {
        cause: (1 - MISREAD) * cause_p.get(cause, 0.0) / total + MISREAD * rates.get(cause, 0.0)
        for cause in names
    }
