"""How causes show themselves to the probes: Bayes' rule over mutually exclusive manifestations.

A fault shows in one place: a wrong network is a closed port, a wrong interface or a wrong name, hardly all of them. The
probes of one group look at the same place. So each cause is a distribution over places, plus "shows in none of our
probes", and what the groups read is independent once the place is known:

- A group reads its most telling finding, or nothing. Where the fault is elsewhere, it reads a finding as often as the
  table's `otherwise` says: a false alarm.
- Where the fault is in its place, it reads a finding, each in proportion to its excess (`p` less `otherwise`).
- The share of a cause that shows in a group is the one that makes both agree with the table: the sum of the excesses
  over the chance of no false alarm. Outcomes of one name in a group are one finding that several probes can see.
- The table's figures were reasoned one probe at a time, and for some causes the shares sum to more than one. Where they
  exceed KNOWN, all shares of the cause are scaled down to it. In this sum, groups that gave no conclusive answer count
  with how often they apply: the fault can well be there, unseen.

The posterior is exact: the sum over the places of a cause. A probe without a conclusive answer (`not_applicable`,
`timed_out`, an inconclusive outcome) moves nothing; a group that reads nothing takes its own share of a cause, no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from knowledge.diagnostics.probe import CAUSES, Outcome, Probe, catalogue

KNOWN = 0.95
"""The most that all probes together see of a cause's manifestations: healthy outcomes never rule a cause out."""
MISREAD = 0.1
"""Share of a report's causes spread by the base rates, since its words can mislead: the three most frequent fixes of a
symptom hold the right one in 0.44 of the cases only."""
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
"""Distributed faults of study 1 by the cause that their fix implies, over all stages."""

Sign = str
"""A finding of a group: an outcome's id. Probes of one group that have it in common see the same thing."""
Readings = Mapping[str, Sign | None]
"""Group to its most telling finding; None = its probes found nothing wrong."""


@dataclass(frozen=True, slots=True)
class Place:
    """What the probes of one group can find, and how often."""

    alarms: Mapping[Sign, float]
    """P(finding) where the fault is elsewhere."""
    excess: Mapping[str, Mapping[Sign, float]]
    """Cause to how much more often each finding is seen with it."""
    share: Mapping[str, float]
    """Cause to the share of it that shows here, before the sum over all groups is bounded."""

    @property
    def quiet(self) -> float:
        """P(no finding) where the fault is elsewhere."""
        return 1.0 - sum(self.alarms.values())

    def shown(self, cause: str) -> dict[Sign | None, float]:
        """P(reading) where a fault of this cause shows here; it always reads a finding."""
        excess = self.excess[cause]
        total = sum(excess.values())
        return {sign: alarm + self.quiet * excess[sign] / total for sign, alarm in self.alarms.items()}

    def elsewhere(self) -> dict[Sign | None, float]:
        """P(reading) where the fault is elsewhere."""
        odds: list[tuple[Sign | None, float]] = [(None, self.quiet), *self.alarms.items()]
        return dict(odds)


@dataclass(frozen=True, slots=True)
class Model:
    """The manifestations of every cause, as far as the probes that gave an answer can see them."""

    places: Mapping[str, Place]
    shares: Mapping[str, Mapping[str, float]]
    """Cause to group to P(the fault shows there | cause); the sum is KNOWN at most."""

    def likelihood(self, readings: Readings) -> dict[str, float]:
        """P(readings | cause) / P(readings | the fault shows nowhere), summed over the cause's manifestations."""
        return {
            cause: 1.0
            + sum(share * (self._told(group, cause, readings) - 1.0) for group, share in of.items())
            for cause, of in self.shares.items()
        }

    def posterior(self, cause_p: Mapping[str, float], readings: Readings) -> dict[str, float]:
        """Bayes' rule; a cause that the probes do not know keeps the ratio 1. `readings` without a group: not seen."""
        if not readings:
            return dict(cause_p)
        ratios = self.likelihood(readings)
        raw = {cause: p * ratios.get(cause, 1.0) for cause, p in cause_p.items()}
        total = sum(raw.values())
        return {cause: value / total for cause, value in raw.items()} if total else dict(cause_p)

    def _told(self, group: str, cause: str, readings: Readings) -> float:
        """P(reading of a group | it shows there) / P(reading | the fault is elsewhere)."""
        if group not in readings:
            return 1.0
        place, sign = self.places[group], readings[group]
        return 0.0 if sign is None else place.shown(cause)[sign] / place.alarms[sign]


Expected = Mapping[str, Mapping[str, float]]
"""Cause to group to the share that shows there and is seen: how often its probes apply counts too."""


def model_of(probes: Iterable[Probe], expected: Expected | None = None) -> Model:
    """The model for the probes that gave a conclusive answer; their order does not matter.

    `expected`: of all probes there are (default: the shipped ones).
    """
    expected = _expected() if expected is None else expected
    places = {group: _place(members) for group, members in _grouped(probes).items()}
    shares: dict[str, dict[str, float]] = {}
    for cause in CAUSES:
        unseen = sum(share for group, share in expected[cause].items() if group not in places)
        total = unseen + sum(place.share[cause] for place in places.values())
        bound = min(1.0, KNOWN / total) if total else 1.0
        shares[cause] = {
            group: place.share[cause] * bound for group, place in places.items() if place.share[cause] > 0
        }
    return Model(places, shares)


@cache
def _expected() -> Expected:
    return expected_of(catalogue())


def expected_of(probes: Iterable[Probe]) -> Expected:
    """What these probes are expected to see."""
    expected: dict[str, dict[str, float]] = {cause: {} for cause in CAUSES}
    for group, members in _grouped(probes).items():
        place, applies = _place(members), max(probe.applies for probe in members)
        for cause, of in expected.items():
            of[group] = place.share[cause] * applies
    return expected


def _grouped(probes: Iterable[Probe]) -> dict[str, list[Probe]]:
    groups: dict[str, list[Probe]] = {}
    for probe in sorted(probes, key=lambda one: one.id):
        if findings_of(probe):
            groups.setdefault(probe.group, []).append(probe)
    return groups


def _place(probes: Iterable[Probe]) -> Place:
    alarms: dict[Sign, float] = {}
    excess: dict[str, dict[Sign, float]] = {cause: {} for cause in CAUSES}
    for one in (outcome for probe in probes for outcome in findings_of(probe)):
        alarms[one.id] = max(alarms.get(one.id, 0.0), one.otherwise)
        for cause, of in excess.items():
            of[one.id] = max(of.get(one.id, 0.0), one.p.get(cause, one.otherwise) - one.otherwise)
    quiet = 1.0 - sum(alarms.values())
    return Place(
        alarms, excess, {cause: min(KNOWN, sum(of.values()) / quiet) for cause, of in excess.items()}
    )


def findings_of(probe: Probe) -> list[Outcome]:
    """The outcomes of a probe that are something to look at."""
    return [one for one in probe.outcomes if one.finding]


def ratio(outcome: Outcome, cause: str) -> float:
    """How many times as often a finding is seen with this cause as elsewhere, by its table alone."""
    return outcome.p.get(cause, outcome.otherwise) / outcome.otherwise


def strength(outcome: Outcome) -> float:
    """The ratio of the cause that a finding speaks for most."""
    return max(ratio(outcome, cause) for cause in outcome.p)


def base_rates() -> dict[str, float]:
    """Cause to its share among all distributed faults of study 1."""
    total = sum(BASE_COUNTS.values())
    return {cause: BASE_COUNTS[cause] / total for cause in CAUSES}


def opened(cause_p: Mapping[str, float]) -> dict[str, float]:
    """The distribution with MISREAD of its mass spread by the base rates; an empty one becomes the base rates."""
    total = sum(cause_p.values())
    rates = base_rates()
    if total <= 0:
        return rates
    return {
        cause: (1 - MISREAD) * cause_p.get(cause, 0.0) / total + MISREAD * rates.get(cause, 0.0)
        for cause in dict.fromkeys([*cause_p, *rates])
    }
