"""Reading .jsonl files of cases, with every problem found told as file:line."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from knowledge.cases.case import Case, CuratedRecord, Record
from knowledge.cases.rules import curated_problems, label_problems
from knowledge.errors import DataError


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a record and where: `where` is "file:line"."""

    where: str
    message: str

    def __str__(self) -> str:
        """One line as compilers print it."""
        return f"{self.where}: {self.message}"


@dataclass(frozen=True, slots=True)
class Reading:
    """The sound cases of some files and the problems of the others."""

    cases: tuple[Case, ...]
    problems: tuple[Problem, ...]


def read_cases(paths: Iterable[Path], *, curated: bool = False) -> Reading:
    """Read files of records (one JSON object a line; .jsonl or .jsonl.gz) in the given order.

    `curated` asks for what the shipped corpus promises: no unknown field, labels that agree with each
    other. Without it (users' files) the ids must be known, and unknown fields are passed over.
    A record with a problem is left out and told; DataError only when a file itself cannot be read.
    """
    cases: list[Case] = []
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for path in paths:
        for number, line in enumerate(_lines(path), start=1):
            where = f"{path.name}:{number}"
            case, found = _parse(line, curated)
            if case is not None and case.id in seen:
                found = [f"{case.id} stands already at {seen[case.id]}"]
            problems += [Problem(where, message) for message in found]
            if case is not None and not found:
                seen[case.id] = where
                cases.append(case)
    return Reading(tuple(cases), tuple(problems))


def sound_cases(paths: Iterable[Path], *, curated: bool = False) -> tuple[Case, ...]:
    """The cases of files that have no problem at all; DataError naming the first one otherwise."""
    reading = read_cases(paths, curated=curated)
    if reading.problems:
        more = len(reading.problems) - 1
        raise DataError(
            f"{reading.problems[0]}" + (f" (and {more} more)" if more else "") + ".",
            "Mend the record; `bot corpus check` lists every problem.",
        )
    return reading.cases


def _parse(line: str, curated: bool) -> tuple[Case | None, list[str]]:
    try:
        record = (CuratedRecord if curated else Record).model_validate_json(line)
    except ValidationError as error:
        return None, [_message(problem["loc"], problem["msg"]) for problem in error.errors()]
    case = record.as_case()
    return case, curated_problems(case) if curated else label_problems(case)


def _message(location: tuple[int | str, ...], message: str) -> str:
    field = ".".join(str(part) for part in location)
    return f"{field}: {message}" if field else message


def _lines(path: Path) -> list[str]:
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: cannot be read ({error}).", "Give a UTF-8 file, one JSON object a line."
        ) from error
    # Not splitlines(): a JSON string may hold U+2028 and its like unescaped.
    return text.removesuffix("\n").split("\n") if text else []
