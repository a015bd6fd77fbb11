"""What the probes should gain on the human-labelled cases, as far as their likelihoods are right.

For each distributed fault of the corpus with a human-labelled cause: the causes as its symptom alone implies them
(counts over the other cases), then readings drawn from the model given the true cause, then the update. It checks the
sum of the parts, not the likelihoods themselves; so the draw is repeated with half the sensitivity and twice the false
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
from knowledge.diagnostics.compose import select_probes
from knowledge.diagnostics.model import Model, Sign, model_of, opened
from knowledge.diagnostics.probe import Probe, catalogue
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
    """Causes of the other cases with this symptom, spread a little by the base rates."""
    counts = Counter(cause for id, other, cause in rows if other == symptom and id != leave_out)
    total = sum(counts.values())
    return opened({cause: count / total for cause, count in counts.items()} if total else {})


def answering(probes: Sequence[Probe], chance: random.Random) -> Model:
    """The model of those probes that apply this time."""
    return model_of(probe for probe in probes if chance.random() < probe.applies)


def draw(model: Model, cause: str, world: World, chance: random.Random) -> dict[str, Sign | None]:
    """What each group reads when the fault has this cause: it shows in one of them at most."""
    shares = {group: share * world.sensitivity for group, share in model.shares[cause].items()}
    nowhere = 1.0 - sum(shares.values())
    where = chance.choices([*shares, ""], [*shares.values(), nowhere])[0]
    readings: dict[str, Sign | None] = {}
    for group, place in model.places.items():
        if group == where:
            odds = place.shown(cause)
        else:
            alarms = {sign: alarm * world.false_alarms for sign, alarm in place.alarms.items()}
            odds = {None: max(0.0, 1.0 - sum(alarms.values()))} | alarms
        readings[group] = chance.choices(list(odds), list(odds.values()))[0]
    return readings


def after(
    prior: Mapping[str, float], probes: Sequence[Probe], cause: str, world: World, chance: random.Random
) -> str:
    """The most probable cause after one draw."""
    model = answering(probes, chance)
    moved = model.posterior(prior, draw(model, cause, world, chance))
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
                after(priors[id], chosen[id], cause, world, chance) == cause
                for id, _, cause in rows
                for _ in range(DRAWS)
            )
            print(f"- top-1 after {name}, {world.name}: {share(round(right / DRAWS), len(rows))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
