"""A diagnostics result read back: the causes move by what the probes found, and the answer says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from knowledge.diagnostics import parse_result, update
from knowledge.judging.axes import Judged
from knowledge.judging.judge import Judgement
from knowledge.taxonomy import Taxonomy

_FENCE = "```"
_NAME = "distriage-result"


@dataclass(frozen=True, slots=True)
class Moved:
    """Causes and fixes after a result, and a sentence for each probe that moved one."""

    judgement: Mapping[Judged, Judgement]
    sentences: tuple[str, ...]


def move(judgement: Mapping[Judged, Judgement], text: str, taxonomy: Taxonomy) -> Moved:
    """Read the result block(s) in `text` and move causes by them; each fix keeps its share within its cause.

    Raises InputError when the text holds no block, or a damaged one.
    """
    cause, fix = judgement["cause"], judgement["fix"]
    before = dict(cause.ranking)
    moved = update(before, parse_result(text))
    weights = {}
    for id, p in fix.ranking:
        of = taxonomy.cause_of_fix(id)
        weights[id] = p / max(before[of], 1e-6) * moved.posterior.get(of, 0.0)
    sentences = [f"{step.title}: {step.text}" for step in moved.moves]
    sentences += [f"Contradiction: {text}" for text in moved.contradictions]
    return Moved(
        {"cause": _with(cause, moved.posterior), "fix": _with(fix, weights)}, (*sentences, *moved.notes)
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
