"""`pip check` and the resolver's complaints: packages that do not fit each other."""

from __future__ import annotations

from collections.abc import Sequence

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading, component_named

MARKS = (" has requirement ", ", but you have ", ", but you'll have ", " which is not installed")
_CONFLICT = re2.compile(
    r"(?:^|\s)([\w.-]+) (\d[\w.+]*) (?:has requirement|requires) ([\w.\[\]-]+[^,]{0,60}(?:,[<>=!~][^,\s]+)*), but you(?:'ll)? have ([\w.-]+) (\d[\w.+]*)"
)
_ABSENT = re2.compile(r"(?:^|\s)([\w.-]+) (\d[\w.+]*) requires ([\w.-]+)\S*, which is not installed")


def read(lines: Sequence[Line]) -> ToolReading:
    """One sentence a conflict, those first that name a component of the field."""
    facts: list[tuple[bool, Fact]] = []
    for line in lines:
        if (match := _CONFLICT.search(line.text)) is not None:
            package, version, wanted, other, have = match.groups()
            text = f"pip: {package} {version} requires {wanted.strip()}, and {other} {have} is installed."
            facts.append(
                (component_named(package) is None and component_named(other) is None, Fact(line.number, text))
            )
        elif (match := _ABSENT.search(line.text)) is not None:
            text = (
                f"pip: {match.group(1)} {match.group(2)} requires {match.group(3)}, which is not installed."
            )
            facts.append((component_named(match.group(3)) is None, Fact(line.number, text)))
    facts.sort(key=lambda pair: pair[0])
    return ToolReading(tuple(fact for _, fact in facts[:2]))
