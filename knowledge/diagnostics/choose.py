"""Choose the probes with the largest expected information about the causes still in play, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from knowledge.diagnostics.catalogue import by_id
from knowledge.diagnostics.probe import Probe

SEEN_FROM_ANOTHER_SIDE = 0.6
"""A second probe of a group adds little: only the most telling finding counts."""
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
    """Characters that a probe takes besides its code."""


def choose(probes: Sequence[Probe], bits: Mapping[str, float], budget: Budget) -> list[Probe]:
    """The better of two greedy fillings: by bits for what a probe costs, and by bits alone; most telling first.

    Either alone can be far off (many cheap small probes, or few expensive ones); the better of both is never below
    half of what could be had. Ties fall to the earlier entry, so that the same diagnosis gives the same script.
    """
    fillings = [Filling(bits, budget, by_cost) for by_cost in (True, False)]
    for filling in fillings:
        filling.fill([probe for probe in probes if bits.get(probe.id, 0.0) >= LEAST_BITS])
    best = max(fillings, key=lambda filling: filling.total)
    return sorted(best.chosen, key=lambda one: -bits.get(one.id, 0.0))


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
        return self.bits.get(probe.id, 0.0) * SEEN_FROM_ANOTHER_SIDE ** self.groups.get(probe.group, 0)

    def party(self, probe: Probe) -> list[Probe]:
        """The probe after those that it builds on and that are not in yet."""
        here = {one.id for one in self.chosen}
        return [*(by_id()[id] for id in probe.follows if id not in here), probe]

    def size(self, party: Sequence[Probe]) -> int:
        """Characters that probes still take."""
        new = frozenset().union(*(self.budget.code(one) for one in party)) - self.code
        return sum(self.budget.line(one) for one in party) + (self.budget.length(new) if new else 0)

    def rate(self, probe: Probe) -> float:
        """What the next probe is chosen by."""
        if not self.by_cost:
            return self.value(probe)
        party = self.party(probe)
        seconds = sum(one.expected_s for one in party)
        share = seconds / (AT_ONCE * self.budget.seconds) + self.size(party) / self.budget.room
        return self.value(probe) / (share + 0.005)

    def fill(self, probes: Sequence[Probe]) -> None:
        """Take probes as long as they fit and tell something; one that builds on others brings them along."""
        left = {probe.id: probe for probe in probes}
        rates: dict[str, float] = {}
        while left:
            # What was not taken changed nothing.
            rates = rates or {id: self.rate(probe) for id, probe in left.items()}
            best = left.pop(max(left, key=rates.__getitem__))
            party = self.party(best)
            seconds = sum(one.expected_s for one in party)
            if seconds > self.seconds or self.size(party) > self.room or self.value(best) < LEAST_BITS:
                continue
            self.seconds -= seconds
            self.room -= self.size(party)
            for one in party:
                left.pop(one.id, None)
                self.total += self.value(one)
                self.code |= self.budget.code(one)
                self.groups[one.group] = self.groups.get(one.group, 0) + 1
                self.chosen.append(one)
            rates = {}
