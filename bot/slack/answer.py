"""The answer in Block Kit: what a good colleague would write, the rest behind buttons.

Whatever is not ours goes through bot/gate/mrkdwn.py; bot/gate/slack.py then checks the whole.
"""

from __future__ import annotations

from slack_sdk.models.blocks import (
    ActionsBlock,
    Block,
    ButtonElement,
    ContextBlock,
    PlainTextObject,
)

from bot.gate.mrkdwn import code, code_block, prose
from bot.gate.quote import clean, shorten
from bot.gate.slack import TEXT_CHARS, PassedMessage, pass_message
from bot.render.frame import Frame
from bot.slack.extras import cases, extras, updated
from bot.slack.view import Links, View, mrkdwn, section
from knowledge.triage import AxisName, FixAdvice, QuotedLine

MORE, SCRIPT, WRONG, SHARE = "dt_more", "dt_script", "dt_wrong", "dt_share"
EVIDENCE_LINES = 6
_LINE_CHARS = 160
_ROLES = {"root": 0, "consequence": 1, "context": 2}
_say = Frame("en")


def render(view: View) -> PassedMessage:
    """The answer, through the gate."""
    links = Links()
    question = bool(view.claimed("type")) and view.claimed("type")[0][0] != "fault"
    blocks: list[Block] = [section([_headline(view), *_cause(view, question)])]
    blocks += [*_corrected(view), *updated(view), *_second(view), *_evidence(view), *_conflicts(view)]
    blocks += [section(["*What resolved such cases*"])] if view.triage.advice.fixes else []
    blocks += [_fix(place, fix, view, links) for place, fix in enumerate(view.triage.advice.fixes[:3], 1)]
    if question and not view.extras:
        blocks += cases(view, links)
    blocks += _missing(view)
    if view.extras:
        blocks += extras(view, links)
    blocks += [_buttons(view), _footer(view)]
    return pass_message(_notice(view), blocks, links.addresses)


def _headline(view: View) -> str:
    types, symptom, stage = view.claimed("type"), view.claimed("symptom"), view.claimed("stage")
    if types and types[0][0] != "fault":
        kind = prose(view.name("type", types[0][0]), 60)
        return f"*This reads like another kind of post than a fault: {kind}* — {_say.how_sure(types[0][1])}."
    if not symptom and not stage:
        return "*A failure that these words do not pin down.*"
    what = " / ".join(view.words("symptom", id_) for id_, _ in symptom[:2])
    what = what or "a fault whose symptom cannot be told from this text"
    if stage:
        what = f"{view.words('stage', stage[0][0])}: {what}"
    return f"*{what}* — {_say.how_sure((symptom or stage)[0][1])}."


def _cause(view: View, question: bool) -> list[str]:
    if question:
        return []
    causes = view.claimed("cause")
    if causes:
        sure = _say.how_sure(causes[0][1])
        return [f"Likely root cause, a hypothesis: {view.words('cause', causes[0][0])} — {sure}."]
    still = ", ".join(view.words("cause", id_) for id_ in view.triage.cause.answer_set[:4])
    return [f"The root cause cannot be told from this text; still possible: {still}."] if still else []


def _corrected(view: View) -> list[Block]:
    given = [view.words(axis, id_) for axis, ids in view.corrected.items() for id_ in ids]
    return [section([f"Corrected by a person: {', '.join(given)}."])] if given else []


def _second(view: View) -> list[Block]:
    second = view.triage.second_reading
    if second is None or not second.used or not second.why:
        return []
    return [section([f"A second reader ({code(second.model, 60)}) says: {prose(second.why, 300)}"])]


def _evidence(view: View) -> list[Block]:
    best = sorted(view.triage.evidence.lines, key=lambda line: _ROLES[line.role])[:EVIDENCE_LINES]
    best.sort(key=lambda line: (not line.in_title, line.line))
    if not best:
        return []
    head = "It rests on these lines:\n"
    return [section([head + code_block([_quoted(line) for line in best], TEXT_CHARS - len(head))])]


def _quoted(line: QuotedLine) -> str:
    place = "title" if line.in_title else str(line.line)
    rank = f" [rank {line.rank}]" if line.rank is not None else ""
    text = " ".join(clean(line.text).split())
    return f"{place:>5}{rank} | {shorten(text, _LINE_CHARS)}"


def _conflicts(view: View) -> list[Block]:
    found = view.triage.evidence.conflicts[:2]
    known = "Versions that are known not to work together"
    return [section([f"{known}: {prose(c.text, 350)} (source: {code(c.source)})"]) for c in found]


def _fix(place: int, fix: FixAdvice, view: View, links: Links) -> Block:
    count, of = fix.support.count, fix.support.of
    behind = (
        f"{count} of {of}: {prose(fix.support.scope, 100)}" if count else "no labelled case behind it yet"
    )
    near = [n for n in view.triage.neighbours if fix.id in n.labels.fix][:2]
    seen = [f"   Such a case: {', '.join(links(n.url, n.id) for n in near)}"] if near else []
    name = prose(fix.name, 80)
    return section([f"{place}. *{name}* ({behind})", f"   {prose(fix.text, 350)}", *seen])


def _missing(view: View) -> list[Block]:
    asks = [f"• {prose(item.ask, 200)}" for item in view.triage.missing[:4]]
    return [section(["*To say more, please add*", *asks])] if asks else []


def _buttons(view: View) -> Block:
    buttons = []
    if view.triage.script.strip():
        buttons.append(_button("Get diagnostics script", SCRIPT, view))
    if not view.extras:
        buttons.append(_button("More", MORE, view))
    buttons.append(_button("Not right", WRONG, view))
    if not view.shared:
        buttons.append(_button("Share", SHARE, view, style="primary"))
    return ActionsBlock(elements=buttons)


def _button(text: str, action: str, view: View, style: str | None = None) -> ButtonElement:
    label = PlainTextObject(text=text, emoji=False)
    return ButtonElement(text=label, action_id=action, value=view.id, style=style)


def _footer(view: View) -> Block:
    who = "Only you see this." if not view.shared else "Shared by the person who asked."
    how = (
        "Reply in this thread with what the script prints, and this answer is updated." if view.shared else ""
    )
    basis = "From labelled cases and the lines quoted, by a program."
    notes = [prose(note, 150) for note in (*view.notes, *view.triage.evidence.notes)[:4]]
    lines = [" ".join(filter(None, [who, how, basis])), *notes]
    return ContextBlock(elements=[mrkdwn(line) for line in lines])


def _notice(view: View) -> str:
    """What a notification shows: ids and numbers alone."""
    axes: tuple[AxisName, ...] = ("symptom", "stage")
    for axis in axes:
        claimed = view.claimed(axis)
        if claimed and claimed[0][0].replace(".", "").isalnum():
            return f"Triage: {axis} {claimed[0][0]}, {_say.how_sure(claimed[0][1])}"
    return "Triage"
