"""What the GitHub comment is made from, and what comes of it before the gate."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Literal

from knowledge.text.quote import code_span, prose
from knowledge.triage import Axis, AxisName, EarlierReport, Finding, Triage, VersionConflict

Level = Literal["findings", "claims", "always"]
"""What is worth a comment: known failures; or also what the judge claims; or its best guess on every fault."""


@dataclass(frozen=True, slots=True)
class View:
    """What the comment shows: which sections, from which probabilities on."""

    triage: Triage
    name: Callable[[AxisName, str], str]
    what: Literal["finding", "ask", "withdrawn"] = "finding"
    level: Level = "findings"
    sections: Collection[str] = ("evidence", "fixes", "cases", "missing", "script")
    thresholds: dict[str, float] = field(default_factory=dict)
    corrected: dict[AxisName, tuple[str, ...]] = field(default_factory=dict)
    written: bool = False
    """Whether the answer that an LLM wrote goes first."""
    arrived: bool = False
    """Of a withdrawn one: it asked for something, and that has come."""
    explain: bool = False
    script_link: str | None = None
    """Where the whole diagnostics script is to be had."""

    @property
    def findings(self) -> list[Finding]:
        """The known failures to show: those that are sure, else the likeliest where a best guess is wanted."""
        sure = [f for f in self.triage.findings if f.sure]
        return sure or (self.triage.findings[:2] if self.level == "always" else [])

    @property
    def conflicts(self) -> list[VersionConflict]:
        """Version conflicts that explain a line of the report."""
        found = self.triage.evidence.conflicts
        return found if self.level == "always" else [c for c in found if c.explains_line is not None]

    @property
    def earlier(self) -> list[EarlierReport]:
        """Earlier reports of the same failure to show."""
        return self.triage.same_failure if "cases" in self.sections else []

    def claimed(self, axis: AxisName) -> list[tuple[str, float]]:
        """The (id, probability) an axis claims here, most probable first."""
        value: Axis = getattr(self.triage, axis)
        least = self.thresholds.get(axis, 0.0)
        return [(r.id, r.p) for r in value.ranking if r.id in value.answer and r.p >= least]

    def words(self, axis: AxisName, id_: str) -> str:
        """An id's name and the id itself."""
        return f"{prose(self.name(axis, id_))} ({code_span(id_)})"


@dataclass(frozen=True, slots=True)
class Draft:
    """A comment before the gate and the addresses it may link to."""

    body: str
    links: frozenset[str]
