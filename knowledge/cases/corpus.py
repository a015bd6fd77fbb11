"""The corpus: a case, files of cases read and checked, the shipped ones, and the user's own beside them."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from knowledge.errors import DataError, reason
from knowledge.taxonomy import load_taxonomy
from knowledge.taxonomy.model import case_id
from knowledge.triage import RESOLUTION_CHARS, CaseLabels

# A case: a labelled report of the corpus, in our own words, and its reading from a record.

Text = Annotated[str, Field(min_length=1)]
Ending = Literal["known", "not known", "not looked up", "no thread"]
"""What the corpus knows of how a case ended. "no thread": it has no url, so nobody can look it up."""


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
    """The thread, pull request, commit or release that tells of the resolution."""
    looked_up: str | None = None
    """When the ending was looked up (ISO date), whether it was found or not."""
    not_known: str | None = None
    """What the look-up gave where it found no ending, so that nobody repeats it."""
    opened: str | None = None
    """When the post was opened (ISO date), where it is known."""

    @property
    def ending(self) -> Ending:
        """Whether its resolution is known, was looked up in vain, was not looked up, or can't be."""
        if self.resolution is not None:
            return "known"
        if self.not_known is not None:
            return "not known"
        return "not looked up" if self.url else "no thread"


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
    looked_up: Text | None = None
    not_known: Text | None = None
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


# Reading .jsonl files of cases; every problem is reported as file:line.

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
        f"labels.{axis}: {one!r} isn't a valid {axis} ID"
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
        []
        if told == case.labels.cause
        else [f"labels.cause: the fixes imply {told}, not {case.labels.cause}"]
    )


def _link(case: Case) -> list[str]:
    try:
        named = case_id(case.url)
    except DataError as error:
        return [f"url: {error.message}"]
    return [] if named == case.id else [f"url: links to {named}, but the ID is {case.id}"]


def _ending(case: Case) -> list[str]:
    """What is wrong with how a case is said to have ended: text, link and date, or a reason and a date."""
    problems = []
    if bool(case.resolution) != bool(case.resolution_link):
        problems.append("resolution: resolution and resolution_link must be given together")
    if case.resolution and case.not_known:
        problems.append("not_known: the case has a resolution")
    if bool(case.resolution or case.not_known) != bool(case.looked_up):
        problems.append("looked_up: must be given exactly when resolution or not_known is")
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
            f"Can't read {path}: {reason(error) if isinstance(error, OSError) else error}.",
            "Use a UTF-8 file with one JSON object per line.",
        ) from error
    # Not splitlines(): a JSON string may hold U+2028 and its like unescaped.
    return text.removesuffix("\n").split("\n") if text else []


DATA = Path(__file__).parent / "data"


def shipped_files() -> tuple[Path, ...]:
    """The shipped files in the order of their names."""
    return tuple(sorted(DATA.glob("*.jsonl")))


@cache
def load_cases(*additional: Path) -> tuple[Case, ...]:
    """The shipped cases, then those of additional files of the same record format.

    The shipped ones were checked before they shipped (`check_cases`). DataError with file:line when an additional
    record breaks the schema or the taxonomy, or an id stands twice.
    """
    shipped = _shipped_cases()
    if not additional:
        return shipped
    taken = {case.id for case in shipped}
    given = sound_cases(additional)
    for case in given:
        if case.id in taken:
            raise DataError(f"{case.id} is already in the bundled corpus.", "Give it a different ID.")
    return (*shipped, *given)


def _shipped_cases() -> tuple[Case, ...]:
    lines = (line for path in shipped_files() for line in _lines(path))
    try:
        return tuple(Record.model_validate_json(line).as_case() for line in lines)
    except ValidationError as error:
        raise DataError(f"The bundled corpus is damaged: {error}.", "Reinstall distriage.") from error


def check_cases(*additional: Path) -> tuple[Problem, ...]:
    """Every problem of the shipped and additional files; empty when all is sound."""
    return (*read_cases(shipped_files(), curated=True).problems, *read_cases(additional).problems)


UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """How many cases each label has, in the taxonomy's order; a case with two symptoms counts for both.

    `endings`: whether it is known how a case ended; see `knowledge.cases.corpus.Ending`.
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
