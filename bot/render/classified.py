"""What the judge claims of a report, for repositories that want more than known failures."""

from __future__ import annotations

from bot.render.findings import quoted
from bot.render.view import View
from bot.render.wording import TRIED, UNCLEAR, how_sure, telling, with_cases
from knowledge.text.quote import fenced, prose
from knowledge.triage import AxisName

EVIDENCE_LINES = 3
MAX_FIXES = 2


def classified_parts(view: View, *, after_findings: bool) -> list[str]:
    """Symptom and cause as claimed, the lines they rest on, and fixes that resolved such reports."""
    parts = [*_corrected(view), *_headline(view)]
    if not after_findings:
        parts += _evidence(view)
    return [*parts, *_fixes(view), *_checks(view)]


def _corrected(view: View) -> list[str]:
    given = [view.words(axis, id_) for axis, ids in view.corrected.items() for id_ in ids]
    return [f"Set by a maintainer: {', '.join(given)}."] if given else []


def _headline(view: View) -> list[str]:
    axes: tuple[AxisName, ...] = ("symptom", "stage")
    found = next(((axis, *view.claimed(axis)[0]) for axis in axes if view.claimed(axis)), None)
    sentences = []
    if found and not getattr(view.triage, found[0]).by_people:
        axis, id_, p = found
        sentences.append(f"**{view.words(axis, id_)}** — {how_sure(p)}.")
    causes = view.claimed("cause")
    if causes and not view.triage.cause.by_people:
        sentences.append(
            f"Cause, a hypothesis: {view.words('cause', causes[0][0])} — {how_sure(causes[0][1])}."
        )
    if not sentences and not view.corrected and view.level == "always" and not view.findings:
        return ["Not enough information to name the symptom."]
    if sentences and not view.claimed("type") and not view.triage.type.by_people:
        sentences.insert(0, UNCLEAR)
    return [" ".join(sentences)] if sentences else []


def _evidence(view: View) -> list[str]:
    if "evidence" not in view.sections or not view.triage.evidence.lines:
        return []
    return [quoted(telling(view.triage.evidence.lines, EVIDENCE_LINES))]


def _fixes(view: View) -> list[str]:
    """Fixes with labelled cases behind them, the likeliest first."""
    least = view.thresholds.get("fix", 0.0)
    fixes = [f for f in with_cases(view.triage.advice) if f.p >= least][:MAX_FIXES]
    if "fixes" not in view.sections or not fixes or (view.level == "findings" and not view.corrected):
        return []
    lines = [
        f"{n}. {prose(f.text)} ({f.support.count} of {f.support.of} {prose(f.support.scope)})"
        for n, f in enumerate(fixes, 1)
    ]
    return [f"{TRIED}:", "\n".join(lines)]


def _checks(view: View) -> list[str]:
    """Short commands that tell the causes apart, in place of the whole script."""
    checks = view.triage.checks
    if "script" not in view.sections or not checks or view.findings or view.level == "findings":
        return []
    block = fenced("\n".join(check.run for check in checks), "sh")
    return ["To tell the causes apart:", block, "\n".join(f"- {prose(check.reading)}" for check in checks)]
