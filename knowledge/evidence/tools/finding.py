"""What the reader of a tool's output hands back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from knowledge.evidence.facts_table import component_of
from knowledge.evidence.versions_found import checked

_MOST_NAMED = 4


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


def ranks_in_words(ranks: Sequence[int]) -> str:
    """ "rank 3", "ranks 3 and 5", "ranks 3, 5, 6, 7 and 12 more"."""
    ranks = sorted(set(ranks))
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > _MOST_NAMED:
        shown = ", ".join(map(str, ranks[:_MOST_NAMED]))
        return f"ranks {shown} and {len(ranks) - _MOST_NAMED} more"
    return f"ranks {in_words([str(rank) for rank in ranks])}"


def in_words(parts: Sequence[str]) -> str:
    """ "a", "a and b", "a, b, and c"."""
    if len(parts) < 3:
        return " and ".join(parts)
    return f"{', '.join(parts[:-1])}, and {parts[-1]}"


def sentence(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]
