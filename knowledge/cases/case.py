"""A case: a labelled report of the corpus, in our own words, and its reading from a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from knowledge.triage import CaseLabels

Text = Annotated[str, Field(min_length=1)]


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
    """The thread, pull request or release that tells of the resolution."""
    opened: str | None = None
    """When the post was opened (ISO date), where it is known."""


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
