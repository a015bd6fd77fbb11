"""Importer of study 1's final labels: `final_categories.xlsx` of its public replication package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from knowledge.errors import DataError
from knowledge.taxonomy import spelling
from knowledge.taxonomy.entries import case_id
from knowledge.taxonomy.loader import load_taxonomy
from knowledge.taxonomy.sheet import SheetRow, read_sheets

_LINK = ("link",)
_COLUMNS: dict[str, dict[str, tuple[str, ...]]] = {
    "faults": {
        "link": _LINK,
        "distributed": ("distributed-specific", "distributed-specified"),
        "stage": ("stage",),
        "inner": ("inner-category", "inner symptom", "inner category"),
        "leaf": ("leaf category", "leaf-category"),
        "fix": ("fix pattern", "fix-pattern"),
    },
    "how-to questions": {
        "link": _LINK,
        "topic": ("how-to topic",),
        "subtopic": ("sub-topic", "how-to sub-topic"),
    },
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One labelled fault; a post may hold several, each with a record of its own and the same id."""

    id: str
    url: str
    distributed: bool
    stage: str
    symptom: str
    fix: tuple[str, ...]
    cause: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HowTo:
    """One labelled how-to question."""

    id: str
    url: str
    topic: str
    subtopic: str | None


@dataclass(frozen=True, slots=True)
class ImportedStudy:
    """Study 1 as records in the order of its sheet; `unlisted_fixes`: spellings counted as "other"."""

    faults: tuple[Fault, ...]
    howtos: tuple[HowTo, ...]
    unlisted_fixes: Mapping[str, int] = field(default_factory=dict)


def import_labels(path: Path) -> ImportedStudy:
    """Read the final labels. DataError, with sheet, row and remedy, for whatever does not fit."""
    sheets = read_sheets(path, _COLUMNS)
    unlisted: Counter[str] = Counter()
    faults = []
    faults_sheet = sheets["faults"]
    for row, url in with_links(faults_sheet.where, faults_sheet.rows):
        unlisted.update(spelling.fix_ids(row["fix"])[1])
        faults.append(_fault(faults_sheet.where, row, url))
    sheet = sheets["how-to questions"]
    howtos = [_howto(sheet.where, row, url) for row, url in with_links(sheet.where, sheet.rows)]
    return ImportedStudy(tuple(faults), tuple(howtos), dict(unlisted))


def with_links(where: str, rows: tuple[SheetRow, ...]) -> list[tuple[SheetRow, str]]:
    """Each row with its link; a row without one is a further fault of the post above it."""
    linked = []
    url = ""
    for row in rows:
        url = row["link"] or url
        if not url:
            raise bad_row(where, row, "the first row has no link")
        linked.append((row, url))
    return linked


def bad_row(where: str, row: SheetRow, why: str) -> DataError:
    """The error for a row that does not fit."""
    return DataError(
        f"{where}, row {row.number}: {why}.", "Fix the cell, or add its spelling to spellings.toml."
    )


def _fault(where: str, row: SheetRow, url: str) -> Fault:
    stage = spelling.stage_id(row["stage"])
    scope = spelling.inner_id(row["inner"]) if stage == "D" else stage
    if stage is None or scope is None:
        raise bad_row(where, row, f"no such stage: {row['stage']!r} {row['inner']!r}")
    symptom = spelling.leaf_id(scope, row["leaf"])
    if symptom is None:
        raise bad_row(where, row, f"no such leaf below {scope}: {row['leaf']!r}")
    if row["distributed"] not in {"0", "1"}:
        raise bad_row(where, row, f"distributed-specific must be 0 or 1, not {row['distributed']!r}")
    fix, _ = spelling.fix_ids(row["fix"])
    if not fix:
        raise bad_row(where, row, "no fix pattern")
    return Fault(case_id(url), url, row["distributed"] == "1", stage, symptom, fix, causes_of(fix))


def causes_of(fix: tuple[str, ...]) -> tuple[str, ...]:
    """The causes that fix patterns tell of, in order, each once (crosswalk, ours)."""
    taxonomy = load_taxonomy()
    return tuple(dict.fromkeys(taxonomy.cause_of_fix(one) for one in fix))


def _howto(where: str, row: SheetRow, url: str) -> HowTo:
    topic = spelling.topic_id(row["topic"])
    if topic is None:
        raise bad_row(where, row, f"no such topic: {row['topic']!r}")
    return HowTo(case_id(url), url, topic, spelling.subtopic_name(row["subtopic"]))
