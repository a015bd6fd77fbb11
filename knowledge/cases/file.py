"""Reading .jsonl files of cases; every problem is reported as file:line."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pydantic import ValidationError

from knowledge.cases.case import Case, CuratedRecord, Record
from knowledge.errors import DataError
from knowledge.taxonomy import load_taxonomy
from knowledge.taxonomy.entries import case_id
from knowledge.triage import RESOLUTION_CHARS

HUMAN = "human"
"""Label sources that start with this are people's."""
_TELLS = re.compile(
    r"https://github\.com/[\w.-]+/[\w.-]+/"
    r"(?:(?:issues|pull|discussions)/\d+(?:#[\w-]+)?|commit/[0-9a-f]{10,40}|releases/tag/[\w.+-]+)"
)
"""A page that can tell how a case ended."""


def label_problems(case: Case) -> list[str]:
    """Every label of a case that the taxonomy does not know; empty when they are sound."""
    taxonomy, labels = load_taxonomy(), case.labels
    given = {
        "type": [labels.type],
        "stage": labels.stage,
        "symptom": labels.symptom,
        "cause": labels.cause,
        "fix": labels.fix,
        "topic": [labels.topic] if labels.topic else [],
    }
    return [
        f"labels.{axis}: {one!r} is not a valid {axis} id"
        for axis, ids in given.items()
        for one in ids
        if one not in taxonomy.ids(axis)
    ]


def curated_problems(case: Case) -> list[str]:
    """`label_problems`, every label that contradicts another one, the url or the source, and `_ending`."""
    return [
        *label_problems(case),
        *_misplaced(case),
        *_not_of_a_fault(case),
        *_crosswalk(case),
        *_link(case),
        *_ending(case),
    ]


def _misplaced(case: Case) -> list[str]:
    return [
        f"labels.symptom: {symptom} belongs to a stage that labels.stage does not name"
        for symptom in case.labels.symptom
        if symptom.partition(".")[0] not in case.labels.stage
    ]


def _not_of_a_fault(case: Case) -> list[str]:
    labels = case.labels
    if labels.type == "fault":
        extra = [name for name in ("topic", "subtopic") if getattr(labels, name)]
    else:
        extra = [name for name in ("stage", "symptom", "cause", "fix") if getattr(labels, name)]
    return [f"labels.{name}: a {labels.type} has none" for name in extra]


def _crosswalk(case: Case) -> list[str]:
    if not case.label_source.startswith(HUMAN):
        return []
    taxonomy = load_taxonomy()
    known = [fix for fix in case.labels.fix if fix in taxonomy.ids("fix")]
    told = list(dict.fromkeys(taxonomy.cause_of_fix(fix) for fix in known))
    return (
        [] if told == case.labels.cause else [f"labels.cause: the fixes tell {told}, not {case.labels.cause}"]
    )


def _link(case: Case) -> list[str]:
    try:
        named = case_id(case.url)
    except DataError as error:
        return [f"url: {error.message}"]
    return [] if named == case.id else [f"url: leads to {named}, the id is {case.id}"]


def _ending(case: Case) -> list[str]:
    """What is wrong with how a case is said to have ended: text, link and date, or a reason and a date."""
    problems = []
    if bool(case.resolution) != bool(case.resolution_link):
        problems.append("resolution: a resolution needs a resolution_link, and the other way round")
    if case.resolution and case.not_known:
        problems.append("not_known: the case has a resolution")
    if bool(case.resolution or case.not_known) != bool(case.looked_up):
        problems.append("looked_up: goes with a resolution or with not_known")
    if len(case.resolution or "") > RESOLUTION_CHARS:
        problems.append(f"resolution: longer than {RESOLUTION_CHARS} characters")
    if case.resolution_link and not _TELLS.fullmatch(case.resolution_link):
        problems.append("resolution_link: not a link to an issue, pull request, commit or release on GitHub")
    if case.looked_up and not _is_day(case.looked_up):
        problems.append("looked_up: not a date such as 2026-05-01")
    return problems


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


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
                found = [f"{case.id} already appears at {seen[case.id]}"]
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
            "Fix the record; `bot corpus check` lists every problem.",
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
            f"{path}: cannot be read ({error}).", "Use a UTF-8 file with one JSON object per line."
        ) from error
    # Not splitlines(): a JSON string may hold U+2028 and its like unescaped.
    return text.removesuffix("\n").split("\n") if text else []
