"""A case: a labelled report of the corpus, in our own words, and its reading from a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from knowledge.triage import CaseLabels

Text = Annotated[str, Field(min_length=1)]
Ending = Literal["known", "not known", "not looked up", "no thread"]
"""What the corpus knows of how a case ended. "no thread": it has no url, so nobody can look it up."""


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled report; `body` is Markdown, `resolution` says in words how it ended, if known."""

    id: str
    url: str
    framework: str | None
    title: str
    body: str
    labels: CaseLabels
    label_source: str
    resolution: str | None = None
    resolution_link: str | None = None
    """The thread, pull request, commit or release that tells of the resolution."""
    looked_up: str | None = None
    """When the ending was looked up (ISO date), whether it was found or not."""
    not_known: str | None = None
    """What the look-up gave where it found no ending, so that nobody repeats it."""
    opened: str | None = None
    """When the post was opened (ISO date), where it is known."""

    @property
    def ending(self) -> Ending:
        """Whether its resolution is known, was looked up in vain, was not looked up, or can't be."""
        if self.resolution is not None:
            return "known"
        if self.not_known is not None:
            return "not known"
        return "not looked up" if self.url else "no thread"


class Record(BaseModel):
    """One line of a user's .jsonl file; fields beyond these are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    id: Text
    url: str = ""
    framework: Text | None = None
    title: str
    body: str
    labels: CaseLabels
    label_source: str = "not told"
    resolution: Text | None = None
    resolution_link: Text | None = None
    looked_up: Text | None = None
    not_known: Text | None = None
    opened: Text | None = None

    def as_case(self) -> Case:
        """The same as the value that the rest of the code uses."""
        return Case(**{name: getattr(self, name) for name in Case.__slots__})


class CuratedRecord(Record):
    """One line of a shipped file: everything is told, and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    url: Text
    framework: Text
    title: Text
    body: Text
    label_source: Text
