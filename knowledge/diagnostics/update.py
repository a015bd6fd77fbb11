"""Move the distribution over causes by what the probes found, and say which probe moved what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from knowledge.diagnostics.model import Model, Readings, Sign, model_of, opened, ratio, strength
from knowledge.diagnostics.probe import NO_EVIDENCE, Outcome, Probe, by_id, catalogue
from knowledge.diagnostics.result import ProbeResult, counted_noun, in_job, latest, shown

# Differences between the results of several ranks or machines: what ought to agree and does not.

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


# The way from the causes before a result to those after it, in steps that a reader can follow.

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


DECISIVE = 10.0
"""A finding that is seen so many times as often with a cause as elsewhere is called strong."""
AGREES = 3.0
"""A finding that is seen this often more with a cause does not contradict another that points to it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An outcome that is not the healthy state, whether or not it moved anything."""

    probe: str
    title: str
    outcome: str
    text: str
    who: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """The causes after the results, and everything that an answer can say of the way there."""

    posterior: dict[str, float]
    moves: tuple[Move, ...]
    """In the order in which they are read; those of one cause chain up from its prior to its posterior."""
    findings: tuple[Finding, ...]
    contradictions: tuple[str, ...]
    differences: tuple[RankDifference, ...]
    notes: tuple[str, ...]
    healthy: int
    """Probes that looked and found nothing wrong."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the probes answered over all processes."""

    found: dict[str, Found]
    """Probe id to its most telling finding."""
    healthy: dict[str, Probe]
    silent: frozenset[str]
    """Probes that did not apply, or came to no answer in their time."""
    unknown: frozenset[str]


def update(cause_p: Mapping[str, float], results: Sequence[ProbeResult]) -> Update:
    """Bayes' rule over the manifestations of the causes (model.py).

    `cause_p`: cause id to probability, as the triage had it; a tenth of it is spread first (`opened`). Of each process
    the newest answers count. What the catalogue does not know, and probes without a conclusive answer, move nothing and
    are counted in `notes`.
    """
    results = latest(results)
    differences = rank_differences(results)
    seen = _seen(results, between_outcomes(results, differences))
    model = model_of([*(one.probe for one in seen.found.values()), *seen.healthy.values()])
    counted = _most_telling(seen.found.values())
    readings: Readings = {group: counted[group].sign if group in counted else None for group in model.places}
    prior = opened(cause_p) if readings else dict(cause_p)
    after = model.posterior(prior, readings)
    return Update(
        after,
        moves_of(prior, model, readings, list(counted.values()), list(seen.healthy.values())),
        tuple(_finding(one) for one in seen.found.values()),
        _contradictions(cause_p, after, list(counted.values())),
        differences,
        _notes(seen),
        len(seen.healthy),
    )


def _seen(results: Sequence[ProbeResult], between: Mapping[str, str]) -> _Seen:
    """One answer a probe: over several processes the most telling finding, else healthy, else silent."""
    found: dict[str, Found] = {}
    healthy: dict[str, Probe] = {}
    asked: set[str] = set()
    unknown: set[str] = set()
    answers = [
        (one.id, one.outcome, result.who, in_job(result)) for result in results for one in result.probes
    ]
    answers += [(id, outcome, "", True) for id, outcome in between.items()]
    for id, outcome_id, who, inside in answers:
        probe = by_id().get(id)
        outcome = probe.outcome(outcome_id) if probe else None
        if probe is None or (outcome is None and outcome_id not in NO_EVIDENCE):
            unknown.add(id)
            continue
        if outcome is None or not outcome.inconclusive:
            asked.add(id)
        if outcome is not None and outcome.finding:
            found[id] = _stronger(found.get(id), Found(probe, outcome, (who,) if who else ()))
        elif outcome is not None and outcome.healthy and (inside or not _of_the_environment(probe, outcome)):
            healthy[id] = probe
    healthy = {id: probe for id, probe in healthy.items() if id not in found}
    return _Seen(found, healthy, frozenset(asked - set(found) - set(healthy)), frozenset(unknown))


def _of_the_environment(probe: Probe, outcome: Outcome) -> bool:
    """Whether the healthy state can be a mere lack of the job's variables."""
    return probe.scope == "rank" or outcome.id == "unset"


def _stronger(old: Found | None, new: Found) -> Found:
    if old is None:
        return new
    if old.outcome.id == new.outcome.id:
        return Found(old.probe, old.outcome, old.who + new.who)
    return max(old, new, key=lambda one: one.rank)


def _most_telling(found: Iterable[Found]) -> dict[str, Found]:
    """Group to the finding that counts for it, strongest first."""
    groups: dict[str, Found] = {}
    for one in sorted(found, key=lambda one: one.rank, reverse=True):
        groups.setdefault(one.probe.group, one)
    return groups


def _finding(one: Found) -> Finding:
    return Finding(one.probe.id, one.probe.title, one.outcome.id, one.outcome.says, one.who)


def _notes(seen: _Seen) -> tuple[str, ...]:
    notes = []
    if seen.silent:
        notes.append(
            f"{counted_noun(len(seen.silent), 'probe')} did not apply there: {', '.join(sorted(seen.silent))}."
        )
    if seen.unknown:
        were = "is" if len(seen.unknown) == 1 else "are"
        notes.append(
            f"{counted_noun(len(seen.unknown), 'probe')} of the result {were} unknown to this version."
        )
    return tuple(notes)


def _contradictions(
    cause_p: Mapping[str, float], after: Mapping[str, float], counted: Sequence[Found]
) -> tuple[str, ...]:
    """Strong findings that point to different causes, and a report that the measurements overturn."""
    said = []
    strong: dict[str, Found] = {}
    for one in counted:
        if strength(one.outcome) > DECISIVE:
            strong.setdefault(one.points_to, one)
    pairs = list(strong.items())
    for place, (cause, one) in enumerate(pairs):
        for other_cause, other in pairs[place + 1 :]:
            if max(ratio(one.outcome, other_cause), ratio(other.outcome, cause)) < AGREES:
                said.append(
                    f"{one.probe.title} points to `{cause}`, {_inside(other.probe.title)} to `{other_cause}`: "
                    "there may be two faults."
                )
    if cause_p and after:
        before = max(cause_p, key=cause_p.__getitem__)
        now = max(after, key=after.__getitem__)
        if now != before and cause_p[before] >= 0.5 and after[before] < cause_p[before] / 2:
            said.append(f"The report's words pointed to `{before}`; the measurements point to `{now}`.")
    return tuple(said[:5])


def _inside(title: str) -> str:
    """A title as it stands inside a sentence."""
    word = title.split()[0]
    return title if word[1:] != word[1:].lower() else title[0].lower() + title[1:]


def in_words(text: str, names: Mapping[str, str]) -> str:
    """The text with names by their names instead of their ids, which stand in backticks."""
    parts = text.split("`")
    return "".join(names.get(part, part) if place % 2 else part for place, part in enumerate(parts))
