"""What the reader of a tool's output hands back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from knowledge.evidence.facts_table import component_of
from knowledge.evidence.versions_found import checked


@dataclass(frozen=True, slots=True)
class Fact:
    """One plain sentence about the job, and the 1-based line of the report that it rests on."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class ToolReading:
    """What one tool's output says."""

    facts: tuple[Fact, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    world_size: int | None = None


def versions_of(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The versions among (component, text) that can be; the first of each component counts."""
    out: dict[str, str] = {}
    for component, text in pairs:
        shown = checked(component, component, text.strip().strip("'\"").removeprefix("v"))
        if shown is not None:
            out.setdefault(component, shown)
    return out


def component_named(text: str) -> str | None:
    """The component that a label such as "TensorFlow" or "- PyTorch" names, None where it names none."""
    return component_of(text.strip(" \t#*-`:").lower())


def sentence(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]
