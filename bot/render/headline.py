"""What the comment begins with: the finding, its cause, and what maintainers corrected."""

from __future__ import annotations

from bot.render.frame import Frame
from bot.render.view import View


def headline(view: View, say: Frame) -> str:
    """The first line: the finding and how sure it is."""
    types = view.claimed("type")
    if types and types[0][0] == "howto":
        return say("howto", sure=say.how_sure(types[0][1]))
    stage = view.claimed("stage")
    if not stage and not view.claimed("symptom"):
        return say("cannot_name")
    what, p = _symptom(view, say)
    if stage:
        stage_id, stage_p = stage[0]
        p = min(p, stage_p) if what else stage_p
        what = say("finding_stage", stage=view.words("stage", stage_id), symptom=what or say("fault_only"))
    return say("finding", what=what, sure=say.how_sure(p))


def _symptom(view: View, say: Frame) -> tuple[str, float]:
    """The symptom claimed, or the few that are still possible, and how probable that is; "" = open."""
    claimed = view.claimed("symptom")
    if claimed:
        return " / ".join(view.words("symptom", id_) for id_, _ in claimed[:2]), claimed[0][1]
    still = view.triage.symptom.answer_set
    if not 0 < len(still) <= 3:
        return "", 0.0
    p = sum(r.p for r in view.triage.symptom.ranking if r.id in still)
    return say("one_of", symptoms=", ".join(view.words("symptom", id_) for id_ in still)), p


def causes(view: View, say: Frame) -> list[str]:
    """The cause as a hypothesis, or those still possible; nothing for a question."""
    if view.claimed("type") and view.claimed("type")[0][0] == "howto":
        return []
    causes = view.claimed("cause")
    if causes:
        return [say("cause", cause=view.words("cause", causes[0][0]), sure=say.how_sure(causes[0][1]))]
    still = view.triage.cause.answer_set[:4]
    names = ", ".join(view.words("cause", id_) for id_ in still)
    return [say("cause_open", causes=names)] if still else []


def corrections(view: View, say: Frame) -> list[str]:
    """What maintainers corrected."""
    given = [view.words(axis, id_) for axis, ids in view.corrected.items() for id_ in ids]
    return [say("corrected", labels=", ".join(given))] if given else []
