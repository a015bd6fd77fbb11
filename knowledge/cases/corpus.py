"""The shipped corpus: every .jsonl file in data/, and the user's own files beside it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from knowledge.cases.case import Case
from knowledge.cases.reading import Problem, read_cases, sound_cases
from knowledge.errors import DataError

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
            raise DataError(f"{case.id} is a case of the shipped corpus.", "Give it an id of its own.")
    return (*shipped, *given)


def check_cases(*additional: Path) -> tuple[Problem, ...]:
    """Every problem of the shipped and additional files; empty when all is sound."""
    return (*read_cases(shipped_files(), curated=True).problems, *read_cases(additional).problems)
