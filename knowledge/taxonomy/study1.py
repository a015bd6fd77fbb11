"""Importer of study 1's final labels: `final_categories.xlsx` of its public replication package."""

from __future__ import annotations

import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import re2
from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from knowledge.errors import DataError
from knowledge.taxonomy.model import case_id, load_taxonomy

# Rows of an .xlsx sheet as text by header name, whatever the order of its columns.


@dataclass(frozen=True, slots=True)
class SheetRow:
    """One row: its 1-based number and its cells by the names asked for ("" when empty)."""

    number: int
    cells: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        """The cell of a column."""
        return self.cells[name]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of a workbook: where it came from and its rows that are not empty."""

    where: str
    rows: tuple[SheetRow, ...]


def read_sheets(path: Path, columns: Mapping[str, Mapping[str, tuple[str, ...]]]) -> dict[str, Sheet]:
    """`columns`: sheet -> our column name -> headers accepted for it (compared without case and blanks).

    DataError when the file is no workbook, or a sheet or a column is not there.
    """
    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, InvalidFileException) as error:
        raise DataError(
            f"{path} isn't a readable .xlsx workbook: {error}.", "Use the study's original file."
        ) from error
    try:
        sheets: dict[str, Sheet] = {}
        for name, wanted in columns.items():
            if name not in book.sheetnames:
                raise DataError(
                    f"{path} has no sheet {name!r}.", f"Its sheets are: {', '.join(book.sheetnames)}."
                )
            where = f"{path.name}:{name}"
            lines = [tuple(_text(cell) for cell in line) for line in book[name].iter_rows(values_only=True)]
            sheets[name] = Sheet(where, tuple(_rows(where, lines, wanted)))
        return sheets
    finally:
        book.close()


def _text(cell: object) -> str:
    if isinstance(cell, bool):
        return str(int(cell))
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return "" if cell is None else str(cell).strip()


def _rows(
    where: str, lines: list[tuple[str, ...]], wanted: Mapping[str, tuple[str, ...]]
) -> Iterator[SheetRow]:
    header = [" ".join(cell.lower().split()) for cell in lines[0]] if lines else []
    place: dict[str, int] = {}
    for name, accepted in wanted.items():
        hits = [header.index(h) for h in accepted if h in header]
        if not hits:
            raise DataError(f"{where} has no column {accepted[0]!r}.", f"Its header is: {header}.")
        place[name] = hits[0]
    for number, line in enumerate(lines[1:], start=2):
        cells = {name: line[at] if at < len(line) else "" for name, at in place.items()}
        if any(cells.values()):
            yield SheetRow(number, cells)


# Raw labels of study 1's sheets -> ids; its annotators spell one label in several ways.

# A compound cell joins whole fixes with " & " or " / "; a bare "/" belongs to a name (build/install).
_JOINT = re2.compile(r" [&/] ")


def fold(cell: str) -> str:
    """Lower case, single blanks, "and" as "&": "Data  and Model" -> "data & model"."""
    return " ".join("&" if word == "and" else word for word in cell.lower().split())


@cache
def spellings() -> dict[str, Any]:
    """The shipped table of spellings (spellings.toml), folded raw label -> id per column."""
    return tomllib.loads((Path(__file__).parent / "spellings.toml").read_text("utf-8"))


def _named(column: str, cell: str) -> str | None:
    table: dict[str, str] = spellings()[column]
    return table.get(fold(cell))


def is_undecided(cell: str) -> bool:
    """True for an empty cell or one marked as pending."""
    return not cell.strip() or fold(cell) in spellings()["undecided"]["cells"]


def type_id(cell: str) -> str | None:
    """ "how-to question" -> "howto"; None when it is no type of the study."""
    return _named("type", cell)


def is_leaf(cell: str) -> bool:
    """True when a label names a leaf below any stage."""
    leaves: dict[str, dict[str, str]] = spellings()["leaf"]
    return any(fold(cell) in below for below in leaves.values())


def stage_id(cell: str) -> str | None:
    """ "Communication setup" -> "B"; None when it is no stage of the study."""
    return _named("stage", cell)


def inner_id(cell: str) -> str | None:
    """ "program failure" -> "D.1"; None when it is no inner category."""
    return _named("inner", cell)


def leaf_id(scope: str, cell: str) -> str | None:
    """The leaf of a label below a stage (A, B, C) or inner category (D.1, D.2); None when unknown.

    The same label means different leaves by scope: "device error" is C.5 or D.1.3.
    """
    leaves: dict[str, str] = spellings()["leaf"].get(scope, {})
    return leaves.get(fold(cell))


def fix_ids(cell: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A fix cell, split where compound -> (fix ids in order, spellings that name no pattern).

    A spelling that names no pattern counts as "other", as the study does with its rare fixes.
    """
    table: dict[str, str] = spellings()["fix"]
    parts = [part for part in _JOINT.split(fold(cell)) if part]
    ids = tuple(dict.fromkeys(table.get(part, "other") for part in parts))
    return ids, tuple(part for part in parts if part not in table)


def topic_id(cell: str) -> str | None:
    """ "API usage " -> "api usage"; None when it is no topic of the study."""
    return _named("topic", cell)


def subtopic_name(cell: str) -> str | None:
    """ "memory & utilization" -> "memory and utilization"; None for an empty cell."""
    folded = fold(cell)
    return str(spellings()["subtopic"].get(folded, folded)).replace("&", "and") or None


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
        unlisted.update(fix_ids(row["fix"])[1])
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
    stage = stage_id(row["stage"])
    scope = inner_id(row["inner"]) if stage == "D" else stage
    if stage is None or scope is None:
        raise bad_row(where, row, f"no such stage: {row['stage']!r} {row['inner']!r}")
    symptom = leaf_id(scope, row["leaf"])
    if symptom is None:
        raise bad_row(where, row, f"no such leaf below {scope}: {row['leaf']!r}")
    if row["distributed"] not in {"0", "1"}:
        raise bad_row(where, row, f"distributed-specific must be 0 or 1, not {row['distributed']!r}")
    fix, _ = fix_ids(row["fix"])
    if not fix:
        raise bad_row(where, row, "no fix pattern")
    return Fault(case_id(url), url, row["distributed"] == "1", stage, symptom, fix, causes_of(fix))


def causes_of(fix: tuple[str, ...]) -> tuple[str, ...]:
    """The causes that fix patterns tell of, in order, each once (crosswalk, ours)."""
    taxonomy = load_taxonomy()
    return tuple(dict.fromkeys(taxonomy.cause_of_fix(one) for one in fix))


def _howto(where: str, row: SheetRow, url: str) -> HowTo:
    topic = topic_id(row["topic"])
    if topic is None:
        raise bad_row(where, row, f"no such topic: {row['topic']!r}")
    return HowTo(case_id(url), url, topic, subtopic_name(row["subtopic"]))
