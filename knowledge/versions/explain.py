"""Conflicts of a report's versions, and the quoted error that each of them explains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

import re2

from knowledge.triage import VersionConflict
from knowledge.versions.conflicts import find_conflicts
from knowledge.versions.facts import VersionFact


def explained_conflicts(
    versions: Mapping[str, str], quoted: Iterable[tuple[int, str]]
) -> list[VersionConflict]:
    """Conflicts of versions that were read safely, those first that explain one of the `quoted` (line, text)."""
    lines = list(quoted)
    conflicts = [
        VersionConflict(id=fact.id, text=fact.text, source=fact.source, explains_line=_explained(fact, lines))
        for fact in find_conflicts(versions)
    ]
    return sorted(conflicts, key=lambda conflict: conflict.explains_line is None)


def _explained(fact: VersionFact, quoted: Iterable[tuple[int, str]]) -> int | None:
    pattern = _compiled(fact.explains)
    return next((line for line, text in quoted if pattern.search(text)), None)


@cache
def _compiled(pattern: str) -> re2._Regexp:
    return re2.compile(pattern)
