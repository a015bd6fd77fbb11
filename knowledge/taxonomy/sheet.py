"""Rows of an .xlsx sheet as text by header name, whatever the order of its columns."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from knowledge.errors import DataError


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
            f"{path}: not a readable .xlsx workbook ({error}).", "Use the study's original file."
        ) from error
    try:
        sheets: dict[str, Sheet] = {}
        for name, wanted in columns.items():
            if name not in book.sheetnames:
                raise DataError(f"{path}: no sheet {name!r}.", f"It has: {', '.join(book.sheetnames)}.")
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
            raise DataError(
                f"{where}: no column {accepted[0]!r}.", f"Its header must name it; found: {header}."
            )
        place[name] = hits[0]
    for number, line in enumerate(lines[1:], start=2):
        cells = {name: line[at] if at < len(line) else "" for name, at in place.items()}
        if any(cells.values()):
            yield SheetRow(number, cells)
