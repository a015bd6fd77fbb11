"""A diagnostics result read back: the causes move by what the probes found, and the triage says so."""

from __future__ import annotations

import numpy as np

from knowledge.diagnostics import parse_result, update
from knowledge.engine import Examined, Knowledge, conclude
from knowledge.judging.axes import Judged
from knowledge.judging.judge import Judgement
from knowledge.triage import Triage


def apply_result(examined: Examined, text: str, knowledge: Knowledge, *, top: int = 5) -> Triage:
    """The triage of an examined report after the result block(s) in `text`.

    Raises InputError when the text holds no block, or a damaged one. The fixes follow the causes: each fix keeps
    its share within its cause.
    """
    cause, fix = examined.judgement["cause"], examined.judgement["fix"]
    moved = update(dict(cause.ranking), parse_result(text))
    new_cause = _with(cause, moved.posterior)
    share = {
        id: p / max(dict(cause.ranking)[knowledge.taxonomy.cause_of_fix(id)], 1e-6) for id, p in fix.ranking
    }
    weights = {
        id: share[id] * moved.posterior.get(knowledge.taxonomy.cause_of_fix(id), 0.0) for id in fix.ids
    }
    judgement: dict[Judged, Judgement] = {"cause": new_cause, "fix": _with(fix, weights)}
    triage = conclude(examined, knowledge, judgement=judgement, top=top)
    findings = [f"{move.title}: {move.text}" for move in moved.moves]
    findings += [f"Contradiction: {text}" for text in moved.contradictions]
    return triage.model_copy(update={"measured": [*findings, *moved.notes]})


def _with(judgement: Judgement, weights: dict[str, float]) -> Judgement:
    p = np.array([max(weights.get(id, 0.0), 1e-9) for id in judgement.ids])
    return Judgement(judgement.ids, p / p.sum(), judgement.threshold, judgement.mass)
