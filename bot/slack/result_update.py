"""What a diagnostics result does to a triage. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from knowledge.diagnostics import ProbeResult, Update, parse_result, update
from knowledge.errors import InputError
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import Axis, Ranked, Triage

CLAIMED_FROM = 0.5
"""Probability from which on the most probable cause is claimed after a measurement."""
COVERED = 0.9
"""Probability that the answer set holds."""
_LEAST = 1e-6


def read_results(texts: Iterable[str]) -> tuple[ProbeResult, ...]:
    """All result blocks of the texts, each once. Raises `InputError` for what is none or is damaged."""
    found: dict[str, ProbeResult] = {}
    for text in texts:
        found.update({result.checksum: result for result in parse_result(text)})
    if not found:
        raise InputError(
            "No distriage-result block was found.", "Paste the whole block that the script printed."
        )
    return tuple(found.values())


def with_results(triage: Triage, results: tuple[ProbeResult, ...]) -> tuple[Triage, Update]:
    """The triage with its causes moved by the results, and what moved them.

    The fixes follow: each keeps its share within its cause. As knowledge/readback.py does it, but from the
    triage that is kept, since the report's words have been judged already.
    """
    moved = update({r.id: r.p for r in triage.cause.ranking}, results)
    if not moved.posterior:
        return triage, moved
    before = {r.id: r.p for r in triage.cause.ranking}
    change = {id_: p / max(before.get(id_, 0.0), _LEAST) for id_, p in moved.posterior.items()}
    fixes = {r.id: r.p * change.get(_cause_of(r.id), 1.0) for r in triage.fix.ranking}
    total = sum(fixes.values())
    if total <= 0:
        return triage.model_copy(update={"cause": _axis(moved.posterior)}), moved
    fix = _axis({id_: p / total for id_, p in fixes.items()})
    p_of = {r.id: r.p for r in fix.ranking}
    advised = [f.model_copy(update={"p": p_of.get(f.id, f.p)}) for f in triage.advice.fixes]
    advised.sort(key=lambda f: -f.p)
    advice = triage.advice.model_copy(update={"fixes": advised})
    return triage.model_copy(update={"cause": _axis(moved.posterior), "fix": fix, "advice": advice}), moved


def _cause_of(fix_id: str) -> str:
    return {fix.id: fix.cause for fix in load_taxonomy().fixes}.get(fix_id, "other")


def _axis(posterior: dict[str, float]) -> Axis:
    ranking = sorted(posterior.items(), key=lambda item: (-item[1], item[0]))
    ranked = [Ranked(id=id_, p=round(min(max(p, 0.0), 1.0), 4)) for id_, p in ranking]
    covered, total = [], 0.0
    for one in ranked:
        covered.append(one.id)
        total += one.p
        if total >= COVERED:
            break
    claimed = [ranked[0].id] if ranked[0].p >= CLAIMED_FROM else []
    return Axis(ranking=ranked, answer=claimed, answer_set=covered)
