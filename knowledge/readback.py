"""A diagnostics result read back: the causes move by what the probes found, and the answer says so."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from knowledge.diagnostics import ProbeResult, compose_script, parse_result, update
from knowledge.diagnostics.compose import NO_LIMIT
from knowledge.judging.axes import Judged
from knowledge.judging.judge import Judgement
from knowledge.taxonomy import Taxonomy
from knowledge.triage import Triage

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
    sentences = [f"{step.title}: {step.text}" for step in moved.moves]
    sentences += [f"Contradiction: {text}" for text in moved.contradictions]
    return Moved(
        {"cause": _with(cause, moved.posterior), "fix": _with(fix, weights)},
        (*sentences, *moved.notes),
        answered(results),
    )


def answered(results: Collection[ProbeResult]) -> frozenset[str]:
    """Probes that were run, applicable or not."""
    return frozenset(one.id for result in results for one in result.probes if one.outcome != "not_run")


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
