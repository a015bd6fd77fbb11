"""The answer in Block Kit: what a good colleague would write, the rest behind buttons.

Whatever is not ours goes through bot/gate/slack.py; bot/gate/slack.py then checks the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from slack_sdk.models.blocks import (
    ActionsBlock,
    Block,
    ButtonElement,
    ContextBlock,
    MarkdownTextObject,
    PlainTextObject,
    SectionBlock,
)

from bot.gate.slack import TEXT_CHARS, PassedMessage, code, code_block, link, pass_message, prose
from bot.render.answer import similar, support, written
from bot.render.wording import (
    ANSWER,
    DIAGNOSTICS,
    FINDINGS_TOLD,
    KINDS,
    NARROW_DOWN,
    ONLY_NEAREST,
    OUT_OF_SCOPE,
    OWN_DEFECT,
    SIMILAR,
    TRIED,
    TRIED_ALREADY,
    UNCLEAR,
    how_sure,
    is_guess,
    opening,
    percent,
    shown_line,
    telling,
    usual_fixes,
)
from knowledge.triage import (
    AXES,
    RESOLUTION_CHARS,
    AnswerSentence,
    Axis,
    AxisName,
    Finding,
    FixAdvice,
    QuotedLine,
    Triage,
)

# What an answer begins with: known failures first, then what the judge claims.


@dataclass(frozen=True, slots=True)
class View:
    """What an answer shows."""

    id: str
    """The triage's id, which the buttons carry."""
    triage: Triage
    name: Callable[[AxisName, str], str]
    corrected: dict[AxisName, tuple[str, ...]] = field(default_factory=dict)
    shared: bool = False
    updated: bool = False
    """Whether the shared message can still be changed: one by a response URL cannot."""
    extras: bool = False
    """With what is otherwise folded behind a button."""
    notes: tuple[str, ...] = ()
    """What could not be read of what was sent."""

    def claimed(self, axis: AxisName) -> list[tuple[str, float]]:
        """The (id, probability) that an axis claims."""
        value: Axis = getattr(self.triage, axis)
        return [(r.id, r.p) for r in value.ranking if r.id in value.answer]

    def words(self, axis: AxisName, id_: str) -> str:
        """An id's name."""
        return prose(self.name(axis, id_), 80)


class Links:
    """Collects the addresses that an answer links to."""

    def __init__(self) -> None:
        self.addresses: set[str] = set()

    def __call__(self, url: str, label: str) -> str:
        """The case as a link, or its label as code."""
        text, address = link(url, label)
        if address:
            self.addresses.add(address)
        return text


def section(parts: Iterable[str], glue: str = "\n") -> SectionBlock:
    """A text block of those parts that fit, in their order."""
    text = ""
    for part in parts:
        longer = text + (glue if text else "") + part
        if len(longer) > TEXT_CHARS:
            break
        text = longer
    return SectionBlock(text=mrkdwn(text))


def mrkdwn(text: str) -> MarkdownTextObject:
    """Slack's markup, in which nothing is linked by itself."""
    return MarkdownTextObject(text=text, verbatim=True)


WORTH_NAMING = 0.1


def headline(view: View) -> list[str]:
    """The first lines, the decision in the very first."""
    shown = view.triage.findings[:FINDINGS_TOLD]
    found = [line for f in shown for line in _finding(f)]
    found = [ONLY_NEAREST, *found] if shown and is_guess(shown[0]) else found
    if view.triage.scope != "ours":
        nothing = OUT_OF_SCOPE[view.triage.scope]
        return [*found, nothing] if found else [f"*{nothing}*"]
    kind = other_kind(view)
    if kind is not None and not view.triage.findings:
        return [f"*This reads like {KINDS.get(kind, 'something else')}, not a failure*, {_type_sure(view)}."]
    unclear = [] if view.claimed("type") or found else [UNCLEAR]
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
    return "Triage: nothing certain"


def other_kind(view: View) -> str | None:
    """The type that is claimed when it is not a fault."""
    types = view.claimed("type")
    return types[0][0] if types and types[0][0] != "fault" else None


def _finding(finding: Finding) -> list[str]:
    lines = [f"*{opening(finding)}: {prose(finding.title, 120)}*"]
    lines += [code(shown_line(quote, 200), 200) for quote in finding.lines[:1]]
    lines.append(prose(finding.answer, 520) + (f" {TRIED_ALREADY}" if finding.tried else ""))
    lines += [f"Check: {prose(check.replace('**', ''), 300)}" for check in finding.check[:1]]
    return lines


def _symptom(view: View) -> str:
    axes: tuple[AxisName, ...] = ("symptom", "stage")
    for axis in axes:
        claimed = view.claimed(axis)
        if claimed:
            names = " / ".join(view.words(axis, id_) for id_, _ in claimed[:2])
            shown = f"{names}, {_sure(getattr(view.triage, axis), claimed[0][1])}."
            return shown if view.triage.findings else f"*{shown[:-1]}*"
    near = [
        view.words("symptom", r.id)
        for r in view.triage.symptom.ranking[:3]
        if r.p >= WORTH_NAMING and not r.id.endswith("other")
    ]
    return f"The symptom is unclear; closest: {', '.join(near)}." if near else "The symptom is unclear."


def _cause(view: View) -> list[str]:
    causes, axis = view.claimed("cause"), view.triage.cause
    if not causes or (causes[0][0] == OWN_DEFECT and not axis.by_people):
        return []
    return [f"Cause: {view.words('cause', causes[0][0])}, {_sure(axis, causes[0][1])}."]


def _sure(axis: Axis, p: float) -> str:
    return "set by a person" if axis.by_people else how_sure(p)


def _type_sure(view: View) -> str:
    return how_sure(view.claimed("type")[0][1])


SHOWN = 3


def fixes(view: View) -> list[Block]:
    """The three most probable fixes, the one that more labelled cases stand behind first."""
    found = usual_fixes(view.triage, SHOWN)
    if not found:
        return []
    told = len(found) if view.extras else 1
    parts = [_fix(place, fix, view, whole=place <= told) for place, fix in enumerate(found, 1)]
    return [section([f"*{TRIED}*", *parts[0]]), *map(section, parts[1:])]


def _fix(place: int, fix: FixAdvice, view: View, *, whole: bool) -> list[str]:
    count, of = fix.support.count, fix.support.of
    behind = f"{count or 'none'} of {of} {prose(fix.support.scope, 100)}"
    lines = [f"{place}. *{prose(fix.name, 80)}*" + (f", {behind}" if view.extras else "")]
    if whole:
        lines.append(f"   {prose(fix.text, 350)}")
    return lines


def extras(view: View, links: Links) -> list[Block]:
    """The folded part; blocks that have nothing to say are left out."""
    found = view.triage.evidence
    blocks = cases(view, links)
    known = [f"• known failure {code(f.id, 60)} {percent(f.p)}" for f in view.triage.findings]
    blocks.append(section(["*How sure, axis by axis*", *known, *(_axis(view, name) for name in AXES)]))
    if found.signatures:
        known = [f"• {code(s.id, 60)}: {prose(s.meaning, 150)}" for s in found.signatures[:6]]
        blocks.append(section(["*Known errors in the text*", *known]))
    told = [f"{code(name, 30)} {code(version, 40)}" for name, version in list(found.versions.items())[:12]]
    if found.launcher:
        told.append(f"launcher {code(found.launcher, 40)}")
    if found.world_size is not None:
        told.append(f"world size {found.world_size}")
    if told:
        blocks.append(section([f"*Read from the text*: {told[0]}", *told[1:]], glue=", "))
    return blocks


def cases(view: View, links: Links) -> list[Block]:
    """Cases of the same failure, or answered ones of the same topic, with links."""
    lines = [
        f"• {links(case.url, case.id)}: {code(case.title, 100)}. "
        f"How it ended: {prose(case.resolution or '', RESOLUTION_CHARS)}"
        for case in similar(view.triage, view.triage.findings)
    ]
    return [section([f"*{SIMILAR}*", *lines])] if lines else []


def _axis(view: View, name: str) -> str:
    axis = getattr(view.triage, name)
    ranking = ", ".join(f"{code(r.id, 50)} {round(100 * r.p)} %" for r in axis.ranking[:4])
    line = f"• {name}: {ranking or '—'}"
    if axis.answer_set:
        line += f"; answer set: {', '.join(code(i, 50) for i in axis.answer_set[:8])}"
    return line


MORE, SCRIPT, WRONG, SHARE = "dt_more", "dt_script", "dt_wrong", "dt_share"
EVIDENCE_LINES = 6
KNOWN_ERRORS = 2
_LINE_CHARS = 160


def render(view: View) -> PassedMessage:
    """The answer, through the gate."""
    links = Links()
    blocks: list[Block] = [*_written(view), section(headline(view))]
    blocks += [*_corrected(view), *_measured(view), *_second(view), *_evidence(view), *_conflicts(view)]
    if view.extras or not view.triage.findings:
        blocks += fixes(view)
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
    best = telling(view.triage.evidence.lines, EVIDENCE_LINES)
    if not best:
        return []
    head = "Based on these lines:\n"
    known = [f"• {prose(s.meaning, 150)}" for s in view.triage.evidence.signatures[:KNOWN_ERRORS]]
    room = TEXT_CHARS - len(head) - sum(len(line) + 1 for line in known)
    return [section([head + code_block([_quoted(line) for line in best], room), *known])]


def _quoted(line: QuotedLine) -> str:
    place = "1" if line.in_title else str(line.line)  # a paste has no title but its first line
    rank = f" [rank {line.rank}]" if line.rank is not None else ""
    own = " author's diagnosis" if line.role == "diagnosis" else ""
    return f"{place:>5}{rank}{own} | {shown_line(line, _LINE_CHARS)}"


def _conflicts(view: View) -> list[Block]:
    found = view.triage.evidence.conflicts[:2]
    return [section([f"Version problem: {prose(c.text, 350)} (source: {code(c.source)})"]) for c in found]


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
        how = "Reply in this thread with logs or the script's output to update this answer."
    basis = "From labeled cases and the lines quoted, by a program."
    notes = [prose(note, 150) for note in (*view.notes, *view.triage.evidence.notes)[:4]]
    lines = [" ".join(filter(None, [who, how, basis])), *notes]
    return ContextBlock(elements=[mrkdwn(line) for line in lines])
