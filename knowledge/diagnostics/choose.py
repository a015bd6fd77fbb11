"""What is worth running: probes by their expected information, and short commands for who runs no script."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from knowledge.diagnostics.model import Expected, model_of
from knowledge.diagnostics.probe import CAUSES, Probe, by_id, catalogue
from knowledge.errors import DataError
from knowledge.triage import QuickCheck

# What a probe is worth: the expected fall of the entropy over the causes still in play.

OFF_SYMPTOM = 0.25
"""What a probe keeps of its worth where the symptom is not one that it was made for."""
SEVERAL = 0.35
"""How often more than one result comes back, so that they can be compared."""
OTHER_FRAMEWORK = 0.4
"""A probe of certain frameworks, where the report does not tell which it is."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Readings of many probes stacked: what `expected_bits` needs, as arrays over (reading, cause)."""

    owner: npt.NDArray[np.int64]
    """Which probe a reading belongs to."""
    ratios: npt.NDArray[np.float64]
    elsewhere: npt.NDArray[np.float64]
    """P(reading) where the fault is elsewhere."""


def tables_of(probes: Sequence[Probe], expected: Expected | None = None) -> Tables:
    """Stack what each probe, run alone, can read: its findings, or nothing."""
    owner, rows, chances = [], [], []
    for number, probe in enumerate(probes):
        model = model_of([probe], expected)
        for group, place in model.places.items():
            for sign, chance in place.elsewhere().items():
                ratios = model.likelihood({group: sign})
                owner.append(number)
                rows.append([ratios[cause] for cause in CAUSES])
                chances.append(chance)
    return Tables(
        np.array(owner, np.int64), np.array(rows).reshape(-1, len(CAUSES)), np.array(chances, np.float64)
    )


COMPILED_TABLES = Path(__file__).parent / "tables.json"


@cache
def read_tables(path: Path) -> Tables:
    """Tables that were worked out when the program was made. DataError when their file is damaged."""
    try:
        kept = json.loads(path.read_text("utf-8"))
        return Tables(np.array(kept["owner"]), np.array(kept["ratios"]), np.array(kept["elsewhere"]))
    except (OSError, ValueError, KeyError) as error:
        raise DataError(
            f"Can't read {path.name}: {error}.", "Run: python -m knowledge.findings.compile"
        ) from error


def compiled_tables(tables: Tables) -> str:
    """The text of tables.json; as many digits as a float has."""
    return json.dumps({name: getattr(tables, name).tolist() for name in Tables.__slots__}) + "\n"


def expected_bits(cause_p: Mapping[str, float], probes: Sequence[Probe]) -> list[float]:
    """Expected fall of the entropy over the causes when each probe is run alone, in bits."""
    tables = read_tables(COMPILED_TABLES) if probes is catalogue() else tables_of(probes)
    p = np.array([cause_p.get(cause, 0.0) for cause in CAUSES])
    chance = tables.elsewhere * (tables.ratios @ p)
    after = p * tables.ratios
    fall = _entropy(p) - _entropy(after / after.sum(axis=1, keepdims=True))
    gain = np.bincount(tables.owner, chance * fall, minlength=len(probes))
    return [max(0.0, float(bits)) * probe.applies for bits, probe in zip(gain, probes, strict=True)]


def _entropy(p: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Entropy in bits over the last axis."""
    return np.asarray(-(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=-1))


def fits(probe: Probe, framework: str | None) -> bool:
    """Whether a probe is of use for this framework; an unknown framework excludes none."""
    if not probe.frameworks or not framework:
        return True
    name = framework.lower().replace("-", "").replace("_", "")
    return any(known in name or name in known for known in probe.frameworks)


def worth(
    probes: Sequence[Probe], cause_p: Mapping[str, float], framework: str | None, symptom: str | None
) -> dict[str, float]:
    """Expected bits of every probe that is of use here, by its id."""
    total = sum(cause_p.values()) or 1.0
    causes = {cause: p / total for cause, p in cause_p.items()}
    alone = expected_bits(causes, probes)
    compared = by_comparison(probes, alone)
    bits = {}
    for probe, own in zip(probes, alone, strict=True):
        if probe.scope == "between" or not fits(probe, framework):
            continue
        bits[probe.id] = own + compared.get(probe.id, 0.0) * probe.applies
        if probe.symptoms and symptom and not symptom.startswith(probe.symptoms):
            bits[probe.id] *= OFF_SYMPTOM
        if probe.frameworks and not framework:
            bits[probe.id] *= OTHER_FRAMEWORK
    return bits


def by_comparison(probes: Sequence[Probe], alone: Sequence[float]) -> dict[str, float]:
    """Bits that a comparison of several results adds to the probes whose facts it compares, shared
    between them."""
    added: dict[str, float] = {}
    for probe, bits in zip(probes, alone, strict=True):
        if probe.scope == "between":
            sources = {name.partition(".")[0] for name in probe.facts}
            for id in sources:
                added[id] = added.get(id, 0.0) + SEVERAL * bits / len(sources)
    return added


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
        if not probe.follows:
            return [probe]
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
        rates = {id: self.rate(probe) for id, probe in left.items()}
        while left:
            best = left.pop(max(left, key=rates.__getitem__))
            party = self.party(best)
            seconds = sum(one.expected_s for one in party)
            if seconds > self.seconds or self.size(party) > self.room or self.value(best) < LEAST_BITS:
                continue
            self.seconds -= seconds
            self.room -= self.size(party)
            before = self.code
            for one in party:
                left.pop(one.id, None)
                self.total += self.value(one)
                self.code |= self.budget.code(one)
                self.groups[one.group] = self.groups.get(one.group, 0) + 1
                self.chosen.append(one)
            groups, new = {one.group for one in party}, self.code - before
            for id, probe in left.items():
                # The rates of the others are what they were.
                if probe.follows or probe.group in groups or not new.isdisjoint(self.budget.code(probe)):
                    rates[id] = self.rate(probe)


# A few short commands that tell the likeliest causes apart, for readers who will not run a script.

_FILE = Path(__file__).parent / "commands.toml"
MAX_COMMANDS = 3
MIN_PROBABILITY = 0.1
"""Of a cause, for its command to be worth running."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command of the data file."""

    cause: str
    symptoms: tuple[str, ...]
    run: str
    reading: str


@cache
def load_commands() -> tuple[Command, ...]:
    """All commands as the file orders them."""
    entries = tomllib.loads(_FILE.read_text("utf-8"))["command"]
    return tuple(Command(**{**entry, "symptoms": tuple(entry["symptoms"])}) for entry in entries)


def quick_checks(causes: Mapping[str, float], symptom: str | None) -> list[QuickCheck]:
    """At most three commands, for the likeliest causes first; one command a cause."""
    chosen: list[QuickCheck] = []
    for cause, p in sorted(causes.items(), key=lambda item: -item[1]):
        if p < MIN_PROBABILITY or len(chosen) == MAX_COMMANDS:
            break
        fitting = (
            c for c in load_commands() if c.cause == cause and (not c.symptoms or symptom in c.symptoms)
        )
        if command := next(fitting, None):
            chosen.append(QuickCheck(run=command.run, reading=command.reading))
    return chosen
