"""Raw labels of study 1's sheets -> ids; its annotators spell one label in several ways."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import re2

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
