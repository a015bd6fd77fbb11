"""What an answer begins with: known failures first, then what the judge claims."""

from __future__ import annotations

from bot.gate.mrkdwn import code, prose
from bot.render.wording import KINDS, OUT_OF_SCOPE, UNCLEAR, how_sure, opening
from bot.slack.view import View
from knowledge.text.quote import clean
from knowledge.triage import Axis, AxisName, Finding

MAX_FINDINGS = 2
WORTH_NAMING = 0.1


def headline(view: View) -> list[str]:
    """The first lines, the decision in the very first."""
    if view.triage.scope != "ours":
        return [f"*{OUT_OF_SCOPE[view.triage.scope]}*"]
    kind = other_kind(view)
    if kind is not None and not view.triage.findings:
        return [f"*This reads like {KINDS.get(kind, 'something else')}, not a failure* — {_type_sure(view)}."]
    unclear = [] if view.claimed("type") or view.triage.findings else [UNCLEAR]
    found = [line for f in view.triage.findings[:MAX_FINDINGS] for line in _finding(f)]
    return [*unclear, *found, _symptom(view), *_cause(view)]


def notice(view: View) -> str:
    """What a notification shows of it; no text of a report."""
    if view.triage.scope != "ours":
        return "Triage: nothing to judge"
    sure = [f for f in view.triage.findings if f.sure]
    if sure and "`" not in (title := prose(sure[0].title, 100)):
        return f"Triage: {title}"
    if other_kind(view) is not None:
        return "Triage: not a failure"
    axes: tuple[AxisName, ...] = ("symptom", "stage")
    for axis in axes:
        for id_, p in view.claimed(axis)[:1]:
            words = prose(view.name(axis, id_), 80)
            if "`" not in words:
                return f"Triage: {words}, {how_sure(p)}"
            if id_.replace(".", "").isalnum():
                return f"Triage: {axis} {id_}, {how_sure(p)}"
    return "Triage: nothing certain"


def other_kind(view: View) -> str | None:
    """The type that is claimed when it is not a fault."""
    types = view.claimed("type")
    return types[0][0] if types and types[0][0] != "fault" else None


def _finding(finding: Finding) -> list[str]:
    lines = [f"*{opening(finding)}: {prose(finding.title, 120)}* — {how_sure(finding.p)}"]
    lines += [code(" ".join(clean(quote.text).split()), 200) for quote in finding.lines[:1]]
    lines.append(prose(finding.answer, 520))
    lines += [f"Check: {prose(check.replace('**', ''), 300)}" for check in finding.check[:1]]
    return lines


def _symptom(view: View) -> str:
    axes: tuple[AxisName, ...] = ("symptom", "stage")
    for axis in axes:
        claimed = view.claimed(axis)
        if claimed:
            names = " / ".join(view.words(axis, id_) for id_, _ in claimed[:2])
            shown = f"{names} — {_sure(getattr(view.triage, axis), claimed[0][1])}."
            return shown if view.triage.findings else f"*{shown[:-1]}*"
    near = [
        f"{view.words('symptom', r.id)} {round(100 * r.p)}%"
        for r in view.triage.symptom.ranking[:3]
        if r.p >= WORTH_NAMING and not r.id.endswith("other")
    ]
    return f"The symptom is unclear; closest: {', '.join(near)}." if near else "The symptom is unclear."


def _cause(view: View) -> list[str]:
    causes = view.claimed("cause")
    if not causes:
        return []
    axis = view.triage.cause
    said = "Cause" if axis.by_people else "Cause, a hypothesis"
    return [f"{said}: {view.words('cause', causes[0][0])} — {_sure(axis, causes[0][1])}."]


def _sure(axis: Axis, p: float) -> str:
    return "set by a person" if axis.by_people else how_sure(p)


def _type_sure(view: View) -> str:
    return how_sure(view.claimed("type")[0][1])
