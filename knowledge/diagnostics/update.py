"""Move the distribution over causes by what the probes found, and say which probe moved what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knowledge.diagnostics.catalogue import by_id
from knowledge.diagnostics.likelihood import Ratios, likelihood, posterior, strength
from knowledge.diagnostics.prior import opened
from knowledge.diagnostics.probe import Outcome, Probe
from knowledge.diagnostics.ranks import RankDifference, between_outcomes, rank_differences
from knowledge.diagnostics.result import ProbeResult

TELLING = 0.02
"""Moves below two points of probability are not worth a line."""
DECISIVE = 2.3
"""Log of 10: from here on an outcome is called strong."""
AGREES = 3.0
"""A finding that is seen this often more with a cause does not contradict another that points to it."""


@dataclass(frozen=True, slots=True)
class Move:
    """What one probe did to one cause: probability before and after this probe, the others' evidence held."""

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
    finding: bool = True


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
    """The causes after the results, and everything that an answer may say of the way there."""

    posterior: dict[str, float]
    moves: tuple[Move, ...]
    """Largest first; findings before healthy outcomes."""
    findings: tuple[Finding, ...]
    contradictions: tuple[str, ...]
    differences: tuple[RankDifference, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Seen:
    probe: Probe
    outcome: Outcome
    ratios: Ratios
    who: tuple[str, ...]

    @property
    def rank(self) -> tuple[bool, float]:
        return self.outcome.finding, strength(self.ratios)


def update(cause_p: Mapping[str, float], results: Sequence[ProbeResult]) -> Update:
    """Bayes' rule with the probes' likelihoods (likelihood.py); of each group only the strongest outcome
    counts.

    `cause_p`: cause id to probability, as the triage had it; a part of it is spread first (prior.py).
    Outcomes that the catalogue does not know, and
    probes that were
    not applicable, move nothing and are counted in `notes`.
    """
    differences = rank_differences(results)
    seen, notes = _seen(results, differences)
    counted = _strongest(seen)
    prior = opened(cause_p) if counted else dict(cause_p)
    after = posterior(prior, [one.ratios for one in counted]) if counted else prior
    moves = [move for one in counted if (move := _move(one, counted, prior, after)) is not None]
    moves.sort(key=lambda move: (not move.finding, -abs(move.after - move.before)))
    findings = tuple(
        Finding(one.probe.id, one.probe.title, one.outcome.id, one.outcome.says, one.who)
        for one in seen
        if one.outcome.finding
    )
    return Update(after, tuple(moves), findings, _contradictions(cause_p, after, counted), differences, notes)


def _seen(
    results: Sequence[ProbeResult], differences: Sequence[RankDifference]
) -> tuple[list[_Seen], tuple[str, ...]]:
    """One outcome a probe: over several blocks the strongest, findings first."""
    best: dict[str, _Seen] = {}
    silent: set[str] = set()
    unknown: set[str] = set()
    answers = [(one.id, one.outcome, result.who) for result in results for one in result.probes]
    answers += [(id, outcome, "") for id, outcome in between_outcomes(results, differences).items()]
    for id, outcome_id, who in answers:
        probe = by_id().get(id)
        outcome = probe.outcome(outcome_id) if probe else None
        ratios = likelihood(probe, outcome_id) if probe else None
        if probe is None or outcome is None or ratios is None:
            (silent if probe else unknown).add(id)
            continue
        one = _Seen(probe, outcome, ratios, (who,) if who else ())
        old = best.get(id)
        if old is not None and old.outcome.id == outcome_id:
            best[id] = _Seen(probe, outcome, ratios, old.who + one.who)
        elif old is None or one.rank > old.rank:
            best[id] = one
    notes = []
    if quiet := sorted(silent - set(best)):
        notes.append(f"{len(quiet)} probes did not apply there: {', '.join(quiet)}.")
    if unknown:
        notes.append(f"{len(unknown)} probes of the result are not known to this version and were left out.")
    return list(best.values()), tuple(notes)


def _strongest(seen: Sequence[_Seen]) -> list[_Seen]:
    groups: dict[str, _Seen] = {}
    for one in seen:
        group = one.probe.group
        if group not in groups or one.rank > groups[group].rank:
            groups[group] = one
    return list(groups.values())


def _move(
    one: _Seen, counted: Sequence[_Seen], cause_p: Mapping[str, float], after: Mapping[str, float]
) -> Move | None:
    """What this outcome did given all the others: leave it out, and see which cause changes most; of a finding,
    which it speaks for."""
    without = posterior(cause_p, [other.ratios for other in counted if other is not one])
    change = {id: after[id] - without[id] for id in after}
    if not one.outcome.finding:
        change = {id: abs(by) for id, by in change.items()}
    cause = max(after, key=lambda id: (change[id], after[id]), default=None)
    if cause is None or change[cause] < TELLING:
        return None
    return Move(
        one.probe.id,
        one.probe.title,
        one.outcome.id,
        cause,
        without[cause],
        after[cause],
        one.outcome.says,
        one.who,
        one.outcome.finding,
    )


def _contradictions(
    cause_p: Mapping[str, float], after: Mapping[str, float], counted: Sequence[_Seen]
) -> tuple[str, ...]:
    """Strong findings that point to different causes, and a report that the measurements overturn."""
    said = []
    strong: dict[str, _Seen] = {}
    for one in counted:
        if one.outcome.finding and strength(one.ratios) > DECISIVE:
            strong.setdefault(max(one.ratios, key=one.ratios.__getitem__), one)
    pairs = list(strong.items())
    for place, (cause, one) in enumerate(pairs):
        for other_cause, other in pairs[place + 1 :]:
            if max(one.ratios[other_cause], other.ratios[cause]) < AGREES:
                said.append(
                    f"{one.probe.title} points to `{cause}`, {_inside(other.probe.title)} to `{other_cause}`: "
                    "there may be two faults."
                )
    if cause_p and after:
        before = max(cause_p, key=cause_p.__getitem__)
        now = max(after, key=after.__getitem__)
        if now != before and cause_p[before] >= 0.5 and after[before] < cause_p[before] / 2:
            said.append(
                f"The report's words pointed to `{before}`, and what was measured speaks for `{now}`."
            )
    return tuple(said[:5])


def _inside(title: str) -> str:
    """A title as it stands inside a sentence."""
    word = title.split()[0]
    return title if word[1:] != word[1:].lower() else title[0].lower() + title[1:]


def in_words(text: str, names: Mapping[str, str]) -> str:
    """The text with names by their names instead of their ids, which stand in backticks."""
    parts = text.split("`")
    return "".join(names.get(part, part) if place % 2 else part for place, part in enumerate(parts))
