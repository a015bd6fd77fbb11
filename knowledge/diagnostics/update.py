"""Move the distribution over causes by what the probes found, and say which probe moved what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from knowledge.diagnostics.catalogue import by_id
from knowledge.diagnostics.counted import counted_noun, in_job, latest
from knowledge.diagnostics.model import Readings, model_of, opened, ratio, strength
from knowledge.diagnostics.probe import NO_EVIDENCE, Outcome, Probe
from knowledge.diagnostics.ranks import RankDifference, between_outcomes, rank_differences
from knowledge.diagnostics.result import ProbeResult
from knowledge.diagnostics.steps import Found, Move, moves_of

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
