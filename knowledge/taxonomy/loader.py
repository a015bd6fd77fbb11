"""Data files beside this module -> one cached Taxonomy."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from knowledge.errors import DataError
from knowledge.taxonomy.entries import (
    CauseEntry,
    Entry,
    Fact,
    FixEntry,
    OpenSlot,
    StageEntry,
    SymptomEntry,
    TopicEntry,
    TypeEntry,
)
from knowledge.taxonomy.model import Taxonomy

HERE = Path(__file__).parent
COUNTS_FILE = HERE / "study1_counts.json"
Row = dict[str, Any]


@cache
def load_taxonomy(additional: Path | None = None) -> Taxonomy:
    """The shipped taxonomy, with `additional` (a TOML file of another study's entries) beside it if given.

    An additional file holds `id`, `source` and `[[entry]]` tables with id, name, definition, provenance.
    Raises DataError when a file cannot be read or an entry lacks a field.
    """
    rows = _read_toml(HERE / "entries.toml")
    counts: Row = json.loads(COUNTS_FILE.read_text("utf-8"))
    base = _build(rows, counts, (_open_slot(HERE / "study2.toml"),))
    if additional is None:
        return base
    return Taxonomy(**{**base.__dict__, "additional": _additional(additional)})


def _build(rows: Row, counts: Row, open_slots: tuple[OpenSlot, ...]) -> Taxonomy:
    fixes = tuple(FixEntry(**row, **_counted(counts["fixes"], row["id"])) for row in rows["fix"])
    return Taxonomy(
        types=tuple(TypeEntry(**row) for row in rows["type"]),
        stages=tuple(StageEntry(**row, **_counted(counts["scopes"], row["id"])) for row in rows["stage"]),
        inner_stages=tuple(_inner_stage(row, counts) for row in rows["inner_stage"]),
        symptoms=tuple(_symptom(row, counts) for row in rows["symptom"]),
        fixes=fixes,
        causes=tuple(_cause(row, fixes) for row in rows["cause"]),
        topics=tuple(_topic(row, counts["topics"]) for row in rows["topic"]),
        fixes_by_scope=_nested(counts["fixes_by_scope"]),
        single_fixes_by_stage=_nested(counts["single_fixes_by_stage"]),
        faults_by_scope=MappingProxyType({scope: c["distributed"] for scope, c in counts["scopes"].items()}),
        open_slots=open_slots,
    )


def _counted(table: Row, key: str) -> Row:
    found = table.get(key, {})
    return {"count": found.get("faults", 0), "distributed": found.get("distributed", 0)}


def _inner_stage(row: Row, counts: Row) -> StageEntry:
    rest = {k: v for k, v in row.items() if k != "stage"}
    return StageEntry(**rest, parent=row["stage"], **_counted(counts["scopes"], row["id"]))


def _symptom(row: Row, counts: Row) -> SymptomEntry:
    rest = {k: v for k, v in row.items() if k != "merged_from"}
    merged = tuple(row.get("merged_from", ()))
    return SymptomEntry(**rest, merged_from=merged, **_counted(counts["scopes"], row["id"]))


def _cause(row: Row, fixes: tuple[FixEntry, ...]) -> CauseEntry:
    return CauseEntry(**row, fixes=tuple(fix.id for fix in fixes if fix.cause == row["id"]))


def _topic(row: Row, topics: Row) -> TopicEntry:
    counted = topics.get(row["id"], {"howtos": 0, "subtopics": {}})
    subtopics = tuple((name, counted["subtopics"].get(name, 0)) for name in row["subtopics"])
    rest = {k: v for k, v in row.items() if k != "subtopics"}
    return TopicEntry(**rest, count=counted["howtos"], subtopics=subtopics)


def _nested(table: Row) -> Mapping[str, Mapping[str, int]]:
    return MappingProxyType({scope: MappingProxyType(dict(by_fix)) for scope, by_fix in table.items()})


def _open_slot(path: Path) -> OpenSlot:
    row = _read_toml(path)
    return OpenSlot(row["id"], row["source"], row["note"], tuple(Fact(**fact) for fact in row["fact"]))


def _additional(path: Path) -> tuple[Entry, ...]:
    row = _read_toml(path)
    try:
        return tuple(Entry(**{**entry, "id": f"{row['id']}:{entry['id']}"}) for entry in row["entry"])
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{path}: not a taxonomy file ({error}).",
            "It needs `id`, `source` and [[entry]] tables with id, name, definition, provenance.",
        ) from error


def _read_toml(path: Path) -> Row:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path}: cannot be read ({error}).", "Use a TOML file in UTF-8.") from error
