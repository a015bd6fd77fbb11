"""What the probes should gain on the human-labelled cases, as far as their likelihoods are right.

For each distributed fault of the corpus with a human-labelled cause: the causes as its symptom alone tells
them (counts over
the other cases), then outcomes drawn from the likelihoods given the true cause, then the update. It checks
the sum of the
parts, not the likelihoods themselves; so the draw is repeated with half the sensitivity and twice the false
alarms.

    python -m tests.setups.simulate
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knowledge.cases import Case, load_cases
from knowledge.diagnostics import Outcome, Probe, catalogue, select_probes
from knowledge.diagnostics.likelihood import likelihood, posterior, strength
from knowledge.diagnostics.prior import opened
from knowledge.diagnostics.worth import elsewhere
from tests.setups.table import share

DRAWS = 20
SEED = 20260101


@dataclass(frozen=True)
class World:
    """How well the probes do against their table."""

    name: str
    sensitivity: float
    false_alarms: float


WORLDS = (
    World("as the table says", 1.0, 1.0),
    World("half the sensitivity, twice the false alarms", 0.5, 2.0),
)


def labelled() -> list[tuple[str, str, str]]:
    """(case id, symptom, cause) of the human-labelled distributed faults with one symptom and one cause."""
    rows = []
    for case in load_cases():
        labels = case.labels
        if human(case) and labels.distributed is not False and len(labels.symptom) == len(labels.cause) == 1:
            rows.append((case.id, labels.symptom[0], labels.cause[0]))
    return rows


def human(case: Case) -> bool:
    """Whether a person gave the labels."""
    return case.label_source.startswith("human")


def prior_of(symptom: str, rows: Sequence[tuple[str, str, str]], leave_out: str) -> dict[str, float]:
    """Causes of the other cases with this symptom, opened by the base rates."""
    counts = Counter(cause for id, other, cause in rows if other == symptom and id != leave_out)
    total = sum(counts.values())
    return opened({cause: count / total for cause, count in counts.items()} if total else {})


def excess(probe: Probe, outcome: Outcome, cause: str) -> float:
    """How much more often than elsewhere this outcome is seen with the cause."""
    ratios = likelihood(probe, outcome.id)
    base = elsewhere(probe, outcome)
    return max(0.0, base * (ratios[cause] - 1.0)) if ratios is not None and outcome.finding else 0.0


def draw(probes: Sequence[Probe], cause: str, world: World, chance: random.Random) -> list[tuple[Probe, str]]:
    """Outcomes of the probes that apply: the cause shows itself in one group at most, the rest is as
    elsewhere."""
    applied = [probe for probe in probes if chance.random() < probe.applies]
    shows = {
        probe.id: sum(excess(probe, one, cause) for one in probe.outcomes) * world.sensitivity
        for probe in applied
    }
    groups: dict[str, float] = {}
    for probe in applied:
        groups[probe.group] = max(groups.get(probe.group, 0.0), shows[probe.id])
    names = list(groups)
    rest = max(0.0, 1.0 - sum(groups.values()))
    where = chance.choices([*names, ""], [*groups.values(), rest])[0]
    drawn = []
    for probe in applied:
        if probe.group == where and chance.random() < shows[probe.id] / groups[where]:
            weights = [excess(probe, one, cause) for one in probe.outcomes]
        else:
            alarms = [
                0.0 if one.rest else one.otherwise * (world.false_alarms if one.finding else 1)
                for one in probe.outcomes
            ]
            weights = [
                max(0.0, 1 - sum(alarms)) if one.rest else alarm
                for one, alarm in zip(probe.outcomes, alarms, strict=True)
            ]
        drawn.append((probe, chance.choices(probe.outcomes, weights)[0].id))
    return drawn


def after(prior: Mapping[str, float], drawn: Sequence[tuple[Probe, str]]) -> str:
    """The most probable cause after the outcomes; of a group only the strongest, as in update()."""
    best: dict[str, tuple[tuple[bool, float], Mapping[str, float]]] = {}
    for probe, outcome_id in drawn:
        ratios, outcome = likelihood(probe, outcome_id), probe.outcome(outcome_id)
        if ratios is None or outcome is None:
            continue
        rank = (outcome.finding, strength(ratios))
        if probe.group not in best or rank > best[probe.group][0]:
            best[probe.group] = (rank, ratios)
    moved = posterior(prior, [ratios for _, ratios in best.values()])
    return max(moved, key=moved.__getitem__)


def main() -> int:
    """Print the shares before and after, for both worlds and both sizes of script."""
    rows = labelled()
    every = [probe for probe in catalogue() if probe.scope != "between"]
    print(f"{len(rows)} human-labelled distributed faults with one cause, {DRAWS} draws each\n")
    priors = {id: prior_of(symptom, rows, id) for id, symptom, _ in rows}
    before = sum(max(priors[id], key=priors[id].__getitem__) == cause for id, _, cause in rows)
    print(f"- top-1 by the symptom alone: {share(before, len(rows))}")
    small = {id: select_probes(priors[id], framework=None, symptom=symptom) for id, symptom, _ in rows}
    for world in WORLDS:
        for name, chosen in (("every probe", dict.fromkeys(small, every)), ("a comment's script", small)):
            chance = random.Random(SEED)
            right = sum(
                after(priors[id], draw(chosen[id], cause, world, chance)) == cause
                for id, _, cause in rows
                for _ in range(DRAWS)
            )
            print(f"- top-1 after {name}, {world.name}: {share(round(right / DRAWS), len(rows))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
