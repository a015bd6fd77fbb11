"""The shipped corpus: every .jsonl file in data/, and the user's own files beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import get_args

from knowledge.cases.case import Case, Ending
from knowledge.cases.file import Problem, read_cases, sound_cases
from knowledge.errors import DataError
from knowledge.taxonomy import load_taxonomy

DATA = Path(__file__).parent / "data"


def shipped_files() -> tuple[Path, ...]:
    """The shipped files in the order of their names."""
    return tuple(sorted(DATA.glob("*.jsonl")))


@cache
def load_cases(*additional: Path) -> tuple[Case, ...]:
    """The shipped cases, then those of additional files of the same record format.

    DataError with file:line when a record breaks the schema or the taxonomy, or an id stands twice.
    """
    shipped = sound_cases(shipped_files(), curated=True)
    if not additional:
        return shipped
    taken = {case.id for case in shipped}
    given = sound_cases(additional)
    for case in given:
        if case.id in taken:
            raise DataError(f"{case.id} is a case of the shipped corpus.", "Give it a different id.")
    return (*shipped, *given)


def check_cases(*additional: Path) -> tuple[Problem, ...]:
    """Every problem of the shipped and additional files; empty when all is sound."""
    return (*read_cases(shipped_files(), curated=True).problems, *read_cases(additional).problems)


UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """How many cases each label has, in the taxonomy's order; a case with two symptoms counts for both.

    `endings`: whether it is known how a case ended; see `knowledge.cases.case.Ending`.
    """

    total: int
    endings: Mapping[str, int]
    frameworks: Mapping[str, int]
    types: Mapping[str, int]
    stages: Mapping[str, int]
    symptoms: Mapping[str, int]
    causes: Mapping[str, int]
    fixes: Mapping[str, int]
    topics: Mapping[str, int]
    sources: Mapping[str, int]


def stats(cases: Iterable[Case]) -> CorpusStats:
    """Count cases by framework, label and label source."""
    listed = list(cases)
    endings = Counter(case.ending for case in listed)
    return CorpusStats(
        total=len(listed),
        endings={one: count for one in get_args(Ending) if (count := endings[one])},
        frameworks=dict(Counter(case.framework or UNKNOWN for case in listed).most_common()),
        types=_ordered("type", (case.labels.type for case in listed)),
        stages=_ordered("stage", (s for case in listed for s in case.labels.stage)),
        symptoms=_ordered("symptom", (s for case in listed for s in case.labels.symptom)),
        causes=_ordered("cause", (c for case in listed for c in case.labels.cause)),
        fixes=_ordered("fix", (f for case in listed for f in case.labels.fix)),
        topics=_ordered("topic", (case.labels.topic for case in listed if case.labels.topic)),
        sources=dict(Counter(case.label_source for case in listed).most_common()),
    )


def _ordered(axis: str, ids: Iterable[str]) -> dict[str, int]:
    counted = Counter(ids)
    return {one: counted[one] for one in load_taxonomy().ids(axis) if counted[one]}
