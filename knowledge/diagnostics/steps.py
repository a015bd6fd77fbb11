"""The way from the causes before a result to those after it, in steps that a reader can follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knowledge.diagnostics.counted import counted_noun
from knowledge.diagnostics.model import Model, Readings, Sign, ratio, strength
from knowledge.diagnostics.probe import Outcome, Probe

TELLING = 0.02
"""Moves below two points of probability are not worth a line."""


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, and the blocks that have it."""

    probe: Probe
    outcome: Outcome
    who: tuple[str, ...]

    @property
    def sign(self) -> Sign:
        """The finding as the model knows it."""
        return self.outcome.id

    @property
    def rank(self) -> tuple[float, str, str]:
        """The more telling, the higher; never equal for two findings."""
        return strength(self.outcome), self.probe.id, self.outcome.id

    @property
    def points_to(self) -> str:
        """The cause that it speaks for most."""
        return max(self.outcome.p, key=lambda cause: (ratio(self.outcome, cause), cause))


@dataclass(frozen=True, slots=True)
class Move:
    """What one probe did to one cause, or (without `probe`) what everything else did to it."""

    probe: str
    title: str
    outcome: str
    cause: str
    before: float
    after: float
    text: str
    """One sentence of ours: what was found and what it means."""
    who: tuple[str, ...] = ()
    """The blocks that found it."""


def moves_of(
    prior: Mapping[str, float],
    model: Model,
    readings: Readings,
    found: Sequence[Found],
    healthy: Sequence[Probe],
) -> tuple[Move, ...]:
    """The steps: for each cause that a finding raised its findings, strongest first, then everything else.

    The order of evidence does not change a posterior, so each cause has a way of its own, which starts at its prior and
    ends at its posterior. Without such a finding: what the healthy probes did to the cause that they moved most.
    """
    after = model.posterior(prior, readings)
    ways: dict[str, list[Found]] = {}
    for one in found:
        without = {group: sign for group, sign in readings.items() if group != one.probe.group}
        spared = model.posterior(prior, without)
        cause = max(after, key=lambda id: (after[id] - spared[id], after[id]))
        if after[cause] - spared[cause] >= TELLING:
            ways.setdefault(cause, []).append(one)
    steps: list[Move] = []
    rest: list[Move] = []
    for cause in sorted(ways, key=lambda id: -after[id]):
        told, now = _way(prior, model, cause, ways[cause])
        steps += told
        if told:
            others = len(found) - len(told)
            rest += _rest(cause, now, after[cause], healthy, others, "Everything else measured")
    if not steps and after:
        cause = max(after, key=lambda id: (abs(after[id] - prior[id]), after[id]))
        if abs(after[cause] - prior[cause]) >= TELLING:
            rest += _rest(cause, prior[cause], after[cause], healthy, len(found), "All that was measured")
    return (*steps, *rest)


def _way(
    prior: Mapping[str, float], model: Model, cause: str, found: Sequence[Found]
) -> tuple[list[Move], float]:
    """The steps of one cause, and where they lead; a finding that no longer moves it is left to the rest."""
    told, now, readings = [], prior[cause], dict[str, Sign | None]()
    for one in found:
        then = model.posterior(prior, {**readings, one.probe.group: one.sign})[cause]
        if then - now < TELLING:
            continue
        readings[one.probe.group] = one.sign
        told.append(
            Move(one.probe.id, one.probe.title, one.outcome.id, cause, now, then, one.outcome.says, one.who)
        )
        now = then
    return told, now


def _rest(
    cause: str, before: float, after: float, healthy: Sequence[Probe], others: int, title: str
) -> list[Move]:
    """One step for what has no line of its own; none where the reader would see no change."""
    if f"{before:.0%}" == f"{after:.0%}":
        return []
    said = []
    if healthy:
        said.append(f"{counted_noun(len(healthy), 'probe')} found nothing wrong.")
    if others:
        said.append(f"{counted_noun(others, 'other finding')} {'counts' if others == 1 else 'count'} too.")
    return [Move("", title, "", cause, before, after, " ".join(said))]
