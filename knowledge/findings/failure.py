"""A known failure as the program uses it; knowledge/failures/ holds them as people write them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path

import re2

from knowledge.errors import DataError
from knowledge.report import issue_of
from knowledge.triage import AxisName

COMPILED = Path(__file__).parent / "catalogue.json"


@dataclass(frozen=True, slots=True)
class Failure:
    """One entry of the catalogue. Texts are Markdown without block structure."""

    id: str
    area: str
    """The folder that holds it ("nccl")."""
    title: str
    """What a person calls it; no full stop."""
    answer: str
    """Two or three sentences: what is wrong and what to do about it. The heart of a comment."""
    frameworks: tuple[str, ...]
    """Where it occurs; empty = anywhere."""
    symptom: tuple[str, ...]
    cause: tuple[str, ...]
    fix: tuple[str, ...]
    """Ids of the taxonomy, the most usual first."""
    sources: tuple[str, ...]
    """Where the cause and the remedy can be read up; at least one address."""
    signatures: tuple[str, ...] = ()
    """Signatures that mean this failure and nothing else."""
    patterns: tuple[str, ...] = ()
    """RE2, each searched in one line; a line that matches is this failure nearly always."""
    unless: tuple[str, ...] = ()
    """RE2, searched in the whole report; what matches says that it is something else, though a pattern matches."""
    launchers: tuple[str, ...] = ()
    """Ids of launchers (facts.toml); it needs one of them, empty = any."""
    platforms: tuple[str, ...] = ()
    """Ids of tools.toml ("windows"); it needs one of them, empty = any."""
    world_size: str = ""
    """The number of processes that it takes, as a range (">=2"); empty = any."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Component to the range of affected versions (PEP 440)."""
    affected: str = ""
    fixed_in: str = ""
    confused_with: tuple[str, ...] = ()
    """Ids of the entries that look like it: its near misses, and those that the head adds."""
    what: str = ""
    why: tuple[str, ...] = ()
    """Causes, the most frequent first, each with the sign that tells it."""
    check: tuple[str, ...] = ()
    remedy: tuple[str, ...] = ()
    not_this_when: str = ""

    def to_json(self) -> dict[str, object]:
        """The fields that hold something."""
        return {name: value for name, value in asdict(self).items() if value}


@cache
def load_catalogue() -> Mapping[str, Failure]:
    """All entries by id, in the order of areas and ids. Raises DataError when the compiled file is damaged."""
    try:
        entries = json.loads(COMPILED.read_text("utf-8"))
        return {entry["id"]: _from_json(entry) for entry in entries}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"Can't read {COMPILED.name}: {error}.", "Run: python -m knowledge.findings.compile"
        ) from error


_THREAD = re2.compile(r"^https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull|discussions)/(\d+)")


def cited_issues(entries: Iterable[Failure]) -> frozenset[str]:
    """The issues that entries name as sources, as `knowledge.report.issue_of` writes ids."""
    found = (_THREAD.match(source) for entry in entries for source in entry.sources)
    return frozenset(issue_of(f"{m.group(1)}#{m.group(2)}") for m in found if m)


def agrees(entry: Failure, given: Mapping[AxisName, Sequence[str]]) -> bool:
    """Whether an entry says nothing else than what people set, by axis."""
    if given.get("type", ["fault"])[0] != "fault":
        return False
    axes: tuple[AxisName, ...] = ("symptom", "cause", "fix")
    return all(not given.get(axis) or set(given[axis]) & set(getattr(entry, axis)) for axis in axes)


_LISTS = frozenset(f.name for f in fields(Failure) if str(f.type).startswith("tuple"))


def _from_json(entry: dict[str, object]) -> Failure:
    lists: dict[str, tuple[str, ...]] = {name: tuple(entry.get(name, ())) for name in _LISTS}  # type: ignore[arg-type]
    return Failure(**{**entry, **lists})  # type: ignore[arg-type]
