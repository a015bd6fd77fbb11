"""A diagnostics result read back: the causes move by what the probes found, and the answer says so."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from knowledge.diagnostics import (
    Move,
    ProbeResult,
    Update,
    by_id,
    catalogue,
    compose_script,
    parse_result,
    update,
)
from knowledge.diagnostics.compose import NO_LIMIT
from knowledge.diagnostics.ranks import some_of
from knowledge.diagnostics.update import in_words
from knowledge.judging.axes import Judged
from knowledge.judging.judge import Judgement
from knowledge.taxonomy import Taxonomy
from knowledge.triage import Triage

FIRST_STEPS = 3
"""Probes that are named before contradictions and differences: a comment shows five sentences."""
MOST_DIFFERENCES = 3
_FENCE = "```"
_NAME = "distriage-result"


@dataclass(frozen=True, slots=True)
class Moved:
    """Causes and fixes after a result, and a sentence for each probe that moved one."""

    judgement: Mapping[Judged, Judgement]
    sentences: tuple[str, ...]
    answered: frozenset[str] = frozenset()
    """Ids of probes that need not be run again."""


def move(judgement: Mapping[Judged, Judgement], text: str, taxonomy: Taxonomy) -> Moved:
    """Read the result block(s) in `text` and move causes by them; each fix keeps its share within its cause.

    Raises InputError when the text holds no block, or a damaged one.
    """
    cause, fix = judgement["cause"], judgement["fix"]
    before = dict(cause.ranking)
    results = parse_result(text)
    moved = update(before, results)
    weights = {}
    for id, p in fix.ranking:
        of = taxonomy.cause_of_fix(id)
        weights[id] = p / max(before[of], 1e-6) * moved.posterior.get(of, 0.0)
    return Moved(
        {"cause": _with(cause, moved.posterior), "fix": _with(fix, weights)},
        _sentences(moved, taxonomy, len(results)),
        answered(results),
    )


def _sentences(moved: Update, taxonomy: Taxonomy, blocks: int) -> tuple[str, ...]:
    """What was found, most telling first: the surfaces show the first few only."""
    names = {entry.id: entry.name for entry in taxonomy.on_axis("cause")}
    steps = [_step(step, names, blocks) for step in moved.moves]
    told = {step.probe for step in moved.moves}
    rest = [f"{one.title}: {one.text}" for one in moved.findings if one.probe not in told]
    said = [f"Contradiction: {in_words(text, names)}" for text in moved.contradictions]
    said += [f"Differs: {one.text}" for one in moved.differences[:MOST_DIFFERENCES]]
    return (*steps[:FIRST_STEPS], *said, *steps[FIRST_STEPS:], *rest, *moved.notes)


def _step(step: Move, names: Mapping[str, str], blocks: int) -> str:
    """What a probe found, on which ranks where there are several, and what that did to a cause."""
    where = (
        f" on {some_of(sorted(step.who, key=lambda name: (len(name), name)))}"
        if blocks > 1 and step.finding and step.who
        else ""
    )
    change = f"{names.get(step.cause, step.cause)} from {step.before:.0%} to {step.after:.0%}"
    return f"{step.title}{where} ({change}): {step.text}"


def answered(results: Collection[ProbeResult]) -> frozenset[str]:
    """Probes that need not be run again: those that were run, applicable or not, and those that build on one which
    was not found healthy."""
    outcomes: dict[str, set[str]] = {}
    for result in results:
        for one in result.probes:
            outcomes.setdefault(one.id, set()).add(one.outcome)
    known = {id for id, seen in outcomes.items() if seen != {"not_run"}}
    return frozenset(
        known | {probe.id for probe in catalogue() if any(_unwell(id, outcomes) for id in probe.follows)}
    )


def _unwell(id: str, outcomes: Mapping[str, Collection[str]]) -> bool:
    """Whether a probe was run and nobody found the healthy state."""
    probe = by_id()[id]
    return id in outcomes and not any((one := probe.outcome(seen)) and one.rest for seen in outcomes[id])


def whole_script(triage: Triage, result: str | None = None) -> str:
    """The diagnostics script of a triage without the limit on its length that a comment sets; empty when it has none.

    `result`: the block(s) that the triage rests on; their probes are not asked again. Raises InputError when they
    are damaged.
    """
    if not triage.script:
        return ""
    return compose_script(
        {entry.id: entry.p for entry in triage.cause.ranking},
        framework=triage.evidence.framework,
        symptom=triage.symptom.top,
        largest=NO_LIMIT,
        answered=answered(parse_result(result)) if result else (),
    )


def without_results(body: str) -> str:
    """The body with its result blocks emptied; line numbers stay."""
    lines, inside = body.split("\n"), False
    for number, line in enumerate(lines):
        stripped = line.strip()
        if not inside and stripped.startswith(_FENCE) and _NAME in stripped:
            inside, lines[number] = True, ""
        elif inside:
            inside, lines[number] = stripped != _FENCE, ""
    return "\n".join(lines)


def _with(judgement: Judgement, weights: Mapping[str, float]) -> Judgement:
    p = np.array([max(weights.get(id, 0.0), 1e-9) for id in judgement.ids])
    return Judgement(judgement.ids, p / p.sum(), judgement.threshold, judgement.mass)
