"""Choose the probes with the largest expected information about the causes still in play, within a time
budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from knowledge.diagnostics.probe import Probe

SEEN_FROM_ANOTHER_SIDE = 0.6
"""A second probe of a group adds little: only the strongest moves the causes."""
LEAST_BITS = 0.001
"""Below this a probe is not worth the reader's line."""
SHARE_OF_BUDGET = 0.7
"""Costs are typical times; the rest of the budget is for slow file systems."""
START_S = 2.0
AT_ONCE = 2.0
"""Probes that are under way at any time, on average: four may be, and slow ones wait for each other."""


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


def choose(probes: Sequence[Probe], bits: Mapping[str, float], budget: Budget) -> list[Probe]:
    """The better of two greedy fillings: by bits for what a probe costs, and by bits alone; most telling
    first.

    Either alone can be far off (many cheap small probes, or few dear ones); the better of both is never
    below half
    of what could be had. Ties fall to the earlier entry, so that the same diagnosis gives the same script.
    """
    fillings = [Filling(bits, budget, by_cost) for by_cost in (True, False)]
    for filling in fillings:
        filling.fill([probe for probe in probes if bits.get(probe.id, 0.0) >= LEAST_BITS])
    best = max(fillings, key=lambda filling: filling.total)
    return sorted(best.chosen, key=lambda one: -bits[one.id])


class Filling:
    """Probes taken one after the other until time or room run out."""

    def __init__(self, bits: Mapping[str, float], budget: Budget, by_cost: bool) -> None:
        self.bits, self.budget, self.by_cost = bits, budget, by_cost
        self.seconds = AT_ONCE * (budget.seconds * SHARE_OF_BUDGET - START_S)
        self.room = budget.room
        self.chosen: list[Probe] = []
        self.code: frozenset[str] = frozenset()
        self.groups: dict[str, int] = {}
        self.total = 0.0

    def value(self, probe: Probe) -> float:
        """Bits that a probe still adds, given those of its group that are in."""
        return self.bits[probe.id] * SEEN_FROM_ANOTHER_SIDE ** self.groups.get(probe.group, 0)

    def size(self, probe: Probe) -> int:
        """Characters that a probe still takes."""
        new = self.budget.code(probe) - self.code
        return self.budget.line(probe) + (self.budget.length(new) if new else 0)

    def rate(self, probe: Probe) -> float:
        """What the next probe is chosen by."""
        if not self.by_cost:
            return self.value(probe)
        share = probe.expected_s / (AT_ONCE * self.budget.seconds) + self.size(probe) / self.budget.room
        return self.value(probe) / (share + 0.005)

    def fill(self, probes: Sequence[Probe]) -> None:
        """Take probes as long as they fit and tell something; one that must follow others brings them
        along."""
        left = {probe.id: probe for probe in probes}
        while left:
            best = max(left.values(), key=self.rate)
            del left[best.id]
            if best.expected_s > self.seconds or self.size(best) > self.room or self.value(best) < LEAST_BITS:
                continue
            self.total += self.value(best)
            self.seconds -= best.expected_s
            self.room -= self.size(best)
            self.code |= self.budget.code(best)
            self.groups[best.group] = self.groups.get(best.group, 0) + 1
            self.chosen.append(best)
