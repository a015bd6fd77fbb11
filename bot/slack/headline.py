"""What an answer begins with: known failures first, then what the judge claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from slack_sdk.models.blocks import MarkdownTextObject, SectionBlock

from bot.gate.mrkdwn import code, link, prose
from bot.gate.slack import TEXT_CHARS
from bot.render.wording import KINDS, OUT_OF_SCOPE, UNCLEAR, how_sure, opening
from knowledge.text.quote import clean
from knowledge.triage import Axis, AxisName, Finding, Triage


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
        """An id's name and, where it is a number, the id."""
        words = prose(self.name(axis, id_), 80)
        return f"{words} ({code(id_, 40)})" if axis in ("stage", "symptom") else words


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
