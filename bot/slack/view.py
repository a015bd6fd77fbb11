"""What an answer is made from, and the pieces it is made of: text blocks that fit, and links that are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from slack_sdk.models.blocks import MarkdownTextObject, SectionBlock

from bot.gate.mrkdwn import code, link, prose
from bot.gate.slack import TEXT_CHARS
from knowledge.triage import Axis, AxisName, Triage


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
