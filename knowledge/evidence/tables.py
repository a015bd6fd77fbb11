"""Errors in tables of Markdown: `| 3 | RuntimeError: CUDA out of memory |`."""

from __future__ import annotations

from dataclasses import dataclass

import re2

from knowledge.evidence.roles import marks_of

_RANK = re2.compile(r"^(?i:rank|gpu|worker)? ?(\d{1,5})$")
_TELLING = frozenset(("exception", "hard", "waited", "echo", "killed"))
FEWEST_WORDS = 3


@dataclass(frozen=True, slots=True)
class Cell:
    """The cell of a row that tells an error, and the rank where a cell before it holds nothing but a number."""

    text: str
    rank: int | None


def telling_cell(row: str) -> Cell | None:
    """The first cell of a table's row that says what failed; None where no cell does."""
    cells = [cell.strip(" `") for cell in row.strip().strip("|").split("|")]
    rank: int | None = None
    for cell in cells:
        if match := _RANK.match(cell):
            rank = int(match.group(1)) if rank is None else rank
        elif len(cell.split()) >= FEWEST_WORDS and _TELLING & marks_of(cell):
            return Cell(cell, rank)
    return None
