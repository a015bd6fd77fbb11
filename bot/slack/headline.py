"""What an answer begins with: the finding and how sure it is, the cause or those still possible."""

from __future__ import annotations

from bot.gate.mrkdwn import prose
from bot.render.frame import Frame
from bot.render.sayings import KINDS
from bot.slack.view import View
from knowledge.triage import AxisName

NEAR_ENOUGH = 3
"""So many symptoms still possible can be named as the finding; more of them pin nothing down."""
WORTH_NAMING = 0.1
_say = Frame("en")


def headline(view: View) -> list[str]:
    """The first lines, the finding in the very first."""
    kind = other_kind(view)
    if kind is not None:
        return [f"*This reads as {KINDS.get(kind, 'something else')}, not as a fault* — {_type_sure(view)}."]
    return [_finding(view), *_cause(view)]


def notice(view: View) -> str:
    """What a notification shows of it: words of the taxonomy, or ids where those could be live."""
    if other_kind(view) is not None:
        return "Triage: no fault, as it seems"
    axes: tuple[AxisName, ...] = ("symptom", "stage")
    for axis in axes:
        for id_, p in view.claimed(axis)[:1]:
            words = prose(view.name(axis, id_), 80)
            if "`" not in words:
                return f"Triage: {words}, {_say.how_sure(p)}"
            if id_.replace(".", "").isalnum():
                return f"Triage: {axis} {id_}, {_say.how_sure(p)}"
    return "Triage: nothing certain"


def other_kind(view: View) -> str | None:
    """The type that is claimed when it is not a fault."""
    types = view.claimed("type")
    return types[0][0] if types and types[0][0] != "fault" else None


def _finding(view: View) -> str:
    symptom, stage = view.claimed("symptom"), view.claimed("stage")
    what, p = _symptom(view, symptom)
    if not what:
        where = f"A fault in {view.words('stage', stage[0][0])}" if stage else ""
        open_ = (
            f"*{where}* — {_say.how_sure(stage[0][1])}. Which one, the text does not tell" if where else ""
        )
        return (open_ or "*A failure that these words do not pin down*") + _closest(view)
    if stage:
        what, p = f"{view.words('stage', stage[0][0])}: {what}", min(p, stage[0][1])
    return f"*{what}* — {_say.how_sure(p)}."


def _symptom(view: View, claimed: list[tuple[str, float]]) -> tuple[str, float]:
    if claimed:
        return " / ".join(view.words("symptom", id_) for id_, _ in claimed[:2]), claimed[0][1]
    axis = view.triage.symptom
    if not 0 < len(axis.answer_set) <= NEAR_ENOUGH:
        return "", 0.0
    names = ", ".join(view.words("symptom", id_) for id_ in axis.answer_set)
    return f"one of {names}", sum(r.p for r in axis.ranking if r.id in axis.answer_set)


def _closest(view: View) -> str:
    near = [
        f"{view.words('symptom', r.id)} {round(100 * r.p)} %"
        for r in view.triage.symptom.ranking[:3]
        if r.p >= WORTH_NAMING and not r.id.endswith("other")
    ]
    return f"; closest: {', '.join(near)}." if near else "."


def _cause(view: View) -> list[str]:
    causes = view.claimed("cause")
    if causes:
        sure = _say.how_sure(causes[0][1])
        return [f"Likely root cause, a hypothesis: {view.words('cause', causes[0][0])} — {sure}."]
    still = ", ".join(view.words("cause", id_) for id_ in view.triage.cause.answer_set[:4])
    if not still:
        return []
    apart = " The diagnostics script helps to tell them apart." if view.triage.script.strip() else ""
    return [f"The root cause cannot be told from this text; still possible: {still}.{apart}"]


def _type_sure(view: View) -> str:
    return _say.how_sure(view.claimed("type")[0][1])
