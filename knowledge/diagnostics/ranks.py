"""Differences between the results of several ranks or machines: what ought to agree and does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knowledge.diagnostics.catalogue import by_id, catalogue
from knowledge.diagnostics.probe import NO_EVIDENCE
from knowledge.diagnostics.result import ProbeResult, shown

MOST_VALUES = 4
"""Values of a fact that are shown."""


@dataclass(frozen=True, slots=True)
class RankDifference:
    """A fact that differs between blocks: the value, made harmless, to the blocks that have it."""

    probe: str
    fact: str
    values: Mapping[str, tuple[str, ...]]
    """Value (shown form) to the names of the blocks with it."""

    def renamed(self, names: Mapping[str, str]) -> RankDifference:
        """The same with other names for the blocks."""
        values = {
            value: tuple(names.get(one, one) for one in blocks) for value, blocks in self.values.items()
        }
        return RankDifference(self.probe, self.fact, values)

    @property
    def text(self) -> str:
        """One line for a reader; what comes from the paste stands in code."""
        parts = [f"`{value}` on {some_of(names)}" for value, names in self.values.items()]
        return f"`{self.probe}.{self.fact}`: " + "; ".join(parts[:MOST_VALUES])


def some_of(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def rank_differences(results: Sequence[ProbeResult]) -> tuple[RankDifference, ...]:
    """Every fact marked for comparison that takes several values over the blocks, in the catalogue's order.

    `results` holds one block a process (counted.latest); outcomes without evidence are left out.
    """
    found = []
    for probe in catalogue():
        if probe.scope == "between":
            continue
        for fact in (*probe.facts, "outcome"):
            seen: dict[str, list[str]] = {}
            for result in results:
                answer = result.answer(probe.id)
                if answer is None or answer.outcome in NO_EVIDENCE:
                    continue
                value = (
                    answer.outcome
                    if fact == "outcome"
                    else shown(answer.facts[fact])
                    if fact in answer.facts
                    else None
                )
                if value is not None:
                    seen.setdefault(value, []).append(result.who)
            if len(seen) > 1:
                found.append(
                    RankDifference(
                        probe.id, fact, {value: tuple(names) for value, names in sorted(seen.items())}
                    )
                )
    return tuple(found)


def between_outcomes(results: Sequence[ProbeResult], differences: Sequence[RankDifference]) -> dict[str, str]:
    """Outcomes of the `between` probes: `differ` or `same`; nothing with fewer than two blocks that report the fact."""
    differing = {f"{one.probe}.{one.fact}" for one in differences}
    outcomes: dict[str, str] = {}
    for probe in catalogue():
        if probe.scope != "between":
            continue
        watched = [name for name in probe.facts if _reporting(results, name) > 1]
        if watched:
            outcomes[probe.id] = "differ" if differing.intersection(watched) else "same"
    return outcomes


def _reporting(results: Sequence[ProbeResult], name: str) -> int:
    probe, _, fact = name.partition(".")
    assert probe in by_id(), name
    answers = [result.answer(probe) for result in results]
    return sum(one is not None and one.outcome not in NO_EVIDENCE and fact in one.facts for one in answers)
