"""What people set is the last word: the axes they named, what follows from them, and advice that fits both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import re2

from knowledge.diagnostics.choose import quick_checks
from knowledge.diagnostics.compose import compose_script
from knowledge.findings.failure import agrees, load_catalogue
from knowledge.fixes.advice import advise
from knowledge.taxonomy import Taxonomy
from knowledge.triage import AXES, Advice, Axis, AxisName, QuickCheck, Ranked, Triage

Given = Mapping[AxisName, Sequence[str]]
"""Per axis the ids that people set."""

_OF_A_FAULT: tuple[AxisName, ...] = ("stage", "symptom", "cause", "fix")
_MOVE = re2.compile(r" \([^()]+ from \d+% to \d+%\)")


def correct_axes(axes: Mapping[str, Axis], given: Given, taxonomy: Taxonomy) -> dict[str, Axis]:
    """Make the axes that people set certain, and the others agree with them.

    A symptom implies its stage, a fix its cause, and each of them a fault. Causes and fixes left open are weighted by
    how much likelier study 1 makes them with a symptom that was set; with a cause that was set, only its fixes remain.
    """
    out = dict(axes)
    given = _followed(given, taxonomy)
    if symptoms := given.get("symptom"):
        for axis in ("cause", "fix"):
            out[axis] = _weighted(out[axis], _by_symptom(axis, out["symptom"], symptoms, taxonomy))
    elif stages := given.get("stage"):
        inside = {id: float(taxonomy.stage_of(id) in stages) for id in taxonomy.ids("symptom")}
        out["symptom"] = _weighted(out["symptom"], inside)
    if causes := given.get("cause"):
        of_cause = {id: float(taxonomy.cause_of_fix(id) in causes) for id in taxonomy.ids("fix")}
        out["fix"] = _weighted(out["fix"], of_cause)
    return out | {axis: _certain(out[axis], ids) for axis, ids in given.items()}


def correct(triage: Triage, given: Given, taxonomy: Taxonomy) -> Triage:
    """Correct a finished triage without its report; the same triage where nothing was set.

    What is asked for stays as it was, and the script may ask again for what was measured.
    """
    if not any(given.values()):
        return triage
    axes = correct_axes({axis: getattr(triage, axis) for axis in AXES}, given, taxonomy)
    fault = axes["type"].top == "fault"
    if not fault:
        axes |= {axis: axes[axis].model_copy(update={"answer": []}) for axis in _OF_A_FAULT}
    framework = triage.evidence.framework
    catalogue = load_catalogue()
    findings = [f for f in triage.findings if f.id in catalogue and agrees(catalogue[f.id], given)]
    checks: list[QuickCheck] = []
    script, advice = "", Advice(fixes=[], topic=triage.advice.topic)
    if fault:
        causes = {ranked.id: ranked.p for ranked in axes["cause"].ranking}
        checks = quick_checks(causes, axes["symptom"].top)
        script = compose_script(causes, framework=framework, symptom=axes["symptom"].top, report=triage.id)
        advice = advise(axes, framework, taxonomy, top=max(len(triage.advice.fixes), 3), fault=True)
    scope = "ours" if axes["type"].by_people else triage.scope
    changed = {
        "scope": scope,
        "advice": advice,
        "findings": findings,
        "checks": checks,
        "script": script,
        "measured": measured_under(triage.measured, given),
    }
    return triage.model_copy(update={**axes, **changed})


def measured_under(sentences: Sequence[str], given: Given) -> list[str]:
    """What diagnostics found; where people set the cause, without how it moved causes and what it contradicts."""
    if not (given.get("cause") or given.get("fix")):
        return list(sentences)
    return [_MOVE.sub("", text) for text in sentences if not text.startswith("Contradiction:")]


def _followed(given: Given, taxonomy: Taxonomy) -> dict[AxisName, list[str]]:
    """What people set, with what it implies."""
    out: dict[AxisName, list[str]] = {axis: list(ids) for axis, ids in given.items() if ids}
    if symptoms := out.get("symptom"):
        out["stage"] = list(dict.fromkeys(taxonomy.stage_of(id) for id in symptoms))
    causes = [taxonomy.cause_of_fix(id) for id in out.get("fix", []) if id != "other"]
    if causes and "cause" not in out:
        out["cause"] = list(dict.fromkeys(causes))
    if any(axis in out for axis in _OF_A_FAULT):
        out.setdefault("type", ["fault"])
    return out


def _by_symptom(axis: str, judged: Axis, symptoms: Sequence[str], taxonomy: Taxonomy) -> dict[str, float]:
    """How much likelier study 1 makes each cause or fix once the symptom is known than with the symptoms as judged."""
    total = sum(ranked.p for ranked in judged.ranking) or 1.0
    before = _expected(axis, {ranked.id: ranked.p / total for ranked in judged.ranking}, taxonomy)
    after = _expected(axis, dict.fromkeys(symptoms, 1 / len(symptoms)), taxonomy)
    return {id: after.get(id, 0.0) / max(p, 1e-6) for id, p in before.items()}


def _expected(axis: str, symptoms: Mapping[str, float], taxonomy: Taxonomy) -> dict[str, float]:
    out = dict.fromkeys(taxonomy.ids(axis), 0.0)
    for symptom, share in symptoms.items():
        for fix, p in taxonomy.fix_prior(symptom).items():
            out[fix if axis == "fix" else taxonomy.cause_of_fix(fix)] += share * p
    return out


def _weighted(axis: Axis, weights: Mapping[str, float]) -> Axis:
    """The axis with its probabilities weighted. What it claimed stays claimed while it is still the likeliest."""
    p = {ranked.id: ranked.p * weights.get(ranked.id, 1.0) for ranked in axis.ranking}
    total = sum(p.values())
    if total <= 0:
        return axis
    order = sorted(p, key=lambda id: -p[id])
    ranking = [Ranked(id=id, p=round(p[id] / total, 4)) for id in order]
    mass = sum(ranked.p for ranked in axis.ranking if ranked.id in axis.answer_set)
    answer = axis.answer if axis.answer[:1] == order[:1] else []
    return Axis(
        ranking=ranking, answer=answer, answer_set=_smallest(ranking, mass) if axis.answer_set else []
    )


def _smallest(ranking: Sequence[Ranked], mass: float) -> list[str]:
    """The fewest ids that hold so much probability."""
    ids: list[str] = []
    held = 0.0
    for ranked in ranking:
        if ids and held >= mass - 1e-9:
            break
        ids.append(ranked.id)
        held += ranked.p
    return ids


def _certain(axis: Axis, ids: Sequence[str]) -> Axis:
    rest = [Ranked(id=ranked.id, p=0.0) for ranked in axis.ranking if ranked.id not in ids]
    given = [Ranked(id=id, p=1.0) for id in ids]
    return Axis(ranking=given + rest, answer=list(ids), answer_set=list(ids), by_people=True)


def merged(corrections: Sequence[Given]) -> dict[AxisName, tuple[str, ...]]:
    """What people set in the end, corrections oldest first: the last word on each axis.

    What an earlier one said of another axis stays only where both can be true.
    """
    out: dict[AxisName, tuple[str, ...]] = {}
    for correction in corrections:
        new = {axis: tuple(ids) for axis, ids in correction.items() if ids}
        if "type" not in new and any(axis in new for axis in _OF_A_FAULT) and out.get("type") != ("fault",):
            out.pop("type", None)
        if new.get("type", ("fault",)) != ("fault",):
            out = {}
        if "symptom" in new:
            out.pop("stage", None)
        elif "stage" in new and not _lie_in(out.get("symptom", ()), new["stage"]):
            out.pop("symptom", None)
        out |= new
    return out


def _lie_in(symptoms: Sequence[str], stages: Sequence[str]) -> bool:
    return all(id.partition(".")[0] in stages for id in symptoms)
