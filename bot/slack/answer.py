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
from bot.gate.slack import TEXT_CHARS, PassedMessage, pass_message
from bot.render.answer import support, written
from bot.render.wording import ANSWER, DIAGNOSTICS, NARROW_DOWN
from bot.slack.extras import cases, extras
from bot.slack.fixes import fixes
from bot.slack.headline import headline, notice, other_kind
from bot.slack.view import Links, View, mrkdwn, section
from knowledge.text.quote import clean, shorten
from knowledge.triage import AnswerSentence, QuotedLine

MORE, SCRIPT, WRONG, SHARE = "dt_more", "dt_script", "dt_wrong", "dt_share"
EVIDENCE_LINES = 6
KNOWN_ERRORS = 2
_LINE_CHARS = 160
_ROLES = {"root": 0, "consequence": 1, "context": 2}


def render(view: View) -> PassedMessage:
    """The answer, through the gate."""
    links = Links()
    blocks: list[Block] = [*_written(view), section(headline(view))]
    blocks += [*_corrected(view), *_measured(view), *_second(view), *_evidence(view), *_conflicts(view)]
    if view.extras or not any(f.sure for f in view.triage.findings):
        blocks += fixes(view, links)
    if other_kind(view) is not None and not view.extras:
        blocks += cases(view, links)
    blocks += _missing(view)
    if view.extras:
        blocks += extras(view, links)
    blocks += [_buttons(view), _footer(view)]
    return pass_message(notice(view), blocks, links.addresses)


def _written(view: View) -> list[Block]:
    """The verified answer of an LLM, each sentence with what it rests on."""
    answer = written(view.triage)
    if answer is None:
        return []
    told = [_sentence(s) for s in answer.sentences]
    told += [f"{prose(s.purpose, 300)} {code(s.text)}" for s in answer.commands]
    pieces = [[prose(c.purpose, 300), code_block(c.text.split("\n"), 1200)] for c in answer.code]
    return [section([f"*{ANSWER}* {code(answer.model, 60)}", *told]), *map(section, pieces)]


def _sentence(sentence: AnswerSentence) -> str:
    rests = support(sentence)
    return f"• {prose(sentence.text, 420)}" + (f" ({prose(rests, 200)})" if rests else "")


def _corrected(view: View) -> list[Block]:
    given = [view.words(axis, id_) for axis, ids in view.corrected.items() for id_ in ids]
    return [section([f"Set by a person: {', '.join(given)}."])] if given else []


def _measured(view: View) -> list[Block]:
    found = [f"• {prose(text, 250)}" for text in view.triage.measured[:5]]
    return [section([f"*{DIAGNOSTICS}*", *found])] if found else []


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
    head = "Based on these lines:\n"
    known = [f"• {prose(s.meaning, 150)}" for s in view.triage.evidence.signatures[:KNOWN_ERRORS]]
    room = TEXT_CHARS - len(head) - sum(len(line) + 1 for line in known)
    return [section([head + code_block([_quoted(line) for line in best], room), *known])]


def _quoted(line: QuotedLine) -> str:
    place = "1" if line.in_title else str(line.line)  # a paste has no title but its first line
    rank = f" [rank {line.rank}]" if line.rank is not None else ""
    text = " ".join(clean(line.text).split())
    return f"{place:>5}{rank} | {shorten(text, _LINE_CHARS)}"


def _conflicts(view: View) -> list[Block]:
    found = view.triage.evidence.conflicts[:2]
    return [section([f"Version conflict: {prose(c.text, 350)} (source: {code(c.source)})"]) for c in found]


def _missing(view: View) -> list[Block]:
    asks = [f"• {prose(item.ask, 200)}" for item in view.triage.missing[:2]]
    return [section([f"*{NARROW_DOWN}:*", *asks])] if asks else []


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
    how = ""
    if view.shared and view.updated:
        how = "Reply in this thread with what the script prints, and this answer is updated."
    basis = "From labelled cases and the lines quoted, by a program."
    notes = [prose(note, 150) for note in (*view.notes, *view.triage.evidence.notes)[:4]]
    lines = [" ".join(filter(None, [who, how, basis])), *notes]
    return ContextBlock(elements=[mrkdwn(line) for line in lines])
