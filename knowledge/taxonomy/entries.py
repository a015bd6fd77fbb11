"""The things a taxonomy is made of, one frozen value each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import re2

from knowledge.errors import DataError

Provenance = Literal["P", "S", "Q", "2nd", "ours"]
"""P: stated in study 1's paper; S: computed from its sheet; Q: abstract or page text of a paper;
2nd: second-hand, unverified; ours: decided in this project."""

TopicAxis = Literal["type", "stage", "symptom", "cause", "fix", "topic"]
ALL_AXES: tuple[TopicAxis, ...] = ("type", "stage", "symptom", "cause", "fix", "topic")


@dataclass(frozen=True, slots=True)
class Entry:
    """One id of the taxonomy and what it means: `definition` is two sentences of ours."""

    id: str
    name: str
    definition: str
    provenance: Provenance

    @property
    def axis(self) -> str:
        """The axis it stands on: type, stage, symptom, cause, fix or topic."""
        return type(self).__name__.removesuffix("Entry").lower()


@dataclass(frozen=True, slots=True)
class Counted(Entry):
    """An entry with its number of faults (how-tos for a topic) in study 1."""

    count: int = 0
    distributed: int = 0
    """Of them, specific to distributed training; 0 where the study does not tell (topics)."""


@dataclass(frozen=True, slots=True)
class TypeEntry(Entry):
    """A kind of post: fault, howto, feature, internal."""


@dataclass(frozen=True, slots=True)
class StageEntry(Counted):
    """A stage (A to D), or one of D's two halves, which carry their `parent`."""

    parent: str | None = None


@dataclass(frozen=True, slots=True)
class SymptomEntry(Counted):
    """A leaf, or the merged D.other (then `merged_from` names what it stands for)."""

    guide_name: str = ""
    """The leaf's name in the annotation guide; empty for rest classes."""
    merged_from: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FixEntry(Counted):
    """A fix pattern; its counts are faults for which it is one of the patterns."""

    cause: str = "other"
    """The cause that this fix tells of (crosswalk, ours)."""


@dataclass(frozen=True, slots=True)
class CauseEntry(Entry):
    """A root cause; `fixes` are the patterns that tell of it."""

    fixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicEntry(Counted):
    """What a how-to is about; `subtopics` maps each sub-topic to its number of how-tos."""

    subtopics: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """A single statement known of a study, with where it is known from."""

    text: str
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class OpenSlot:
    """A study whose ids are not at hand: what is known of it, and nothing invented."""

    id: str
    source: str
    note: str
    facts: tuple[Fact, ...]


_GITHUB = re2.compile(r"^https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull|discussions)/(\d+)/?$")
_STACKOVERFLOW = re2.compile(r"^https://stackoverflow\.com/questions/(\d+)(?:/.*)?$")


def case_id(url: str) -> str:
    """ "https://github.com/o/r/issues/7" -> "o/r#7"; a Stack Overflow question -> "stackoverflow#7".

    DataError when it is neither.
    """
    github, question = _GITHUB.match(url), _STACKOVERFLOW.match(url)
    if github:
        return f"{github.group(1)}#{github.group(2)}"
    if question:
        return f"stackoverflow#{question.group(1)}"
    raise DataError(f"{url!r} is not a link to an issue or question.", "Copy the link from the browser.")
