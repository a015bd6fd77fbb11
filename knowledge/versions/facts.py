"""Read and check the table of version facts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import re2
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from knowledge.errors import DataError
from knowledge.taxonomy import load_taxonomy

DATA = Path(__file__).parent / "data" / "facts.toml"
_REMEDY = "Fix the entry; knowledge/versions/facts.py says what each field holds."


def _specifier(text: str) -> str:
    try:
        SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(str(error)) from error
    return text


def _pattern(text: str) -> str:
    try:
        re2.compile(text)
    except re2.error as error:
        raise ValueError(str(error)) from error
    return text


def _cause(id_: str) -> str:
    if id_ not in load_taxonomy().ids("cause"):
        raise ValueError(f"unknown cause {id_}")
    return id_


def _fix(id_: str) -> str:
    if id_ not in load_taxonomy().ids("fix"):
        raise ValueError(f"unknown fix {id_}")
    return id_


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition: the version of `component` lies in the PEP 440 specifier `spec`."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    component: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    spec: Annotated[str, AfterValidator(_specifier), Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class VersionFact:
    """Versions that are known not to work together; field by field as in the data file."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    id: Annotated[str, Field(pattern=r"^[a-z0-9.]+(-[a-z0-9.]+)*$")]
    when: Annotated[tuple[Requirement, ...], Field(min_length=2)]
    """All of them must hold."""
    text: Annotated[str, Field(min_length=20, max_length=300)]
    """Two short sentences of ours: what breaks and what to change."""
    cause: Annotated[str, AfterValidator(_cause)]
    fix: Annotated[str, AfterValidator(_fix)]
    source: Annotated[str, Field(pattern=r"^https://")]
    """Where the rule is documented."""
    fires: Mapping[str, str]
    """An example of component to version that it fires on."""
    quiet: Mapping[str, str]
    """One that is near and fine."""
    explains: Annotated[str, AfterValidator(_pattern), Field(min_length=4)]
    """Error lines that it brings about, as a regular expression (RE2)."""


_FACTS = TypeAdapter(tuple[VersionFact, ...])


@cache
def load_facts() -> tuple[VersionFact, ...]:
    """All shipped facts in the file's order. DataError naming the entry when one does not fit its schema."""
    return read_facts(DATA)


def read_facts(path: Path) -> tuple[VersionFact, ...]:
    """The facts of one file, checked as load_facts says."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path.name} is not TOML: {error}.", _REMEDY) from error
    entries = document.get("fact")
    if not isinstance(entries, list) or set(document) != {"fact"}:
        raise DataError(f"{path.name} must hold [[fact]] tables and nothing else.", _REMEDY)
    try:
        facts = _FACTS.validate_python(entries)
    except ValidationError as error:
        raise DataError(_complaint(entries, error), _REMEDY) from error
    ids = [fact.id for fact in facts]
    if repeated := sorted({id_ for id_ in ids if ids.count(id_) > 1}):
        raise DataError(f"Version fact ids occur twice: {', '.join(repeated)}.", _REMEDY)
    return facts


def _complaint(entries: list[Any], error: ValidationError) -> str:
    first = error.errors()[0]
    index, *where = first["loc"]
    entry = entries[index] if isinstance(index, int) else {}
    return f"Version fact {entry.get('id', index)}: {'.'.join(map(str, where))}: {first['msg']}."
