"""The table of version facts, read and checked, and the versions of a report against it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import re2
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from knowledge.errors import DataError
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import VersionConflict

DATA = Path(__file__).parent / "data" / "facts.toml"
COMPILED_FACTS = Path(__file__).parent / "facts.json"
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


@cache
def load_facts() -> tuple[VersionFact, ...]:
    """All shipped facts in the file's order. DataError when the compiled file is damaged."""
    try:
        entries = json.loads(COMPILED_FACTS.read_text("utf-8"))
        return tuple(
            VersionFact(**{**entry, "when": tuple(Requirement(**one) for one in entry["when"])})
            for entry in entries
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"Can't read {COMPILED_FACTS.name}: {error}.", "Run: python -m knowledge.findings.compile"
        ) from error


def compiled_facts(facts: Iterable[VersionFact]) -> str:
    """The text of facts.json: one fact a line."""
    return "[\n" + ",\n".join(json.dumps(asdict(fact), ensure_ascii=False) for fact in facts) + "\n]\n"


def read_facts(path: Path) -> tuple[VersionFact, ...]:
    """The facts of one TOML file. DataError naming the entry when one does not fit its schema."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path.name} isn't valid TOML: {error}.", _REMEDY) from error
    entries = document.get("fact")
    if not isinstance(entries, list) or set(document) != {"fact"}:
        raise DataError(f"{path.name} must contain only [[fact]] tables.", _REMEDY)
    try:
        facts = TypeAdapter(tuple[VersionFact, ...]).validate_python(entries)
    except ValidationError as error:
        raise DataError(_complaint(entries, error), _REMEDY) from error
    ids = [fact.id for fact in facts]
    if repeated := sorted({id_ for id_ in ids if ids.count(id_) > 1}):
        raise DataError(f"These version fact IDs are used more than once: {', '.join(repeated)}.", _REMEDY)
    return facts


def _complaint(entries: list[Any], error: ValidationError) -> str:
    first = error.errors()[0]
    index, *where = first["loc"]
    entry = entries[index] if isinstance(index, int) else {}
    return f"Version fact {entry.get('id', index)}: {'.'.join(map(str, where))}: {first['msg']}."


# Versions of a report against the table of facts.

_MAX_LENGTH = 80
_TOKEN = re2.compile(r"^\W*[vV]?(\d[\w.+!-]*)")
_NUMBERS = re2.compile(r"^\d{1,9}(?:\.\d{1,9}){0,5}")
_CUDA_TAG = re2.compile(r"\bcu(\d{1,2})(\d)\b")
_UNSAID = 9999
"""Stands for a component that a short version leaves open."""


def parse_version(text: str) -> Version | None:
    """The version that `text` begins with, or None where it begins with none.

    Build tags go: "1.13.1+cu117" is 1.13.1.
    """
    token = _TOKEN.search(_plain(text))
    if token is None:
        return None
    try:
        version = Version(token.group(1))
    except InvalidVersion:
        numbers = _NUMBERS.search(token.group(1))
        return Version(numbers.group(0)) if numbers else None
    return Version(version.public)


def cuda_of_torch(text: str) -> str | None:
    """The CUDA version in a PyTorch version's build tag: "2.1.2+cu121" gives "12.1", "1.9.0+cu92" "9.2"."""
    tag = _CUDA_TAG.search(_plain(text).partition("+")[2])
    return f"{tag.group(1)}.{tag.group(2)}" if tag else None


def surely_in(version: Version, spec: SpecifierSet) -> bool:
    """Whether `version` meets `spec` whatever its unsaid components are: "3" is not surely below 3.8.

    A pre-release or nightly lies somewhere between the release before and its own: what holds of it has to hold of
    both ends, and never is it exactly a release.
    """
    if version.is_prerelease:
        if any(one.operator == "==" for one in spec) or not spec.contains(version, prereleases=True):
            return False
        # A pre-release says all: there is none of 2.0.1 before 2.0 is out.
        return spec.contains(Version(version.base_version), prereleases=True)
    if len(version.release) >= 3:
        return spec.contains(version, prereleases=True)
    latest = ".".join(str(part) for part in (*version.release, _UNSAID))
    return spec.contains(version, prereleases=True) and spec.contains(latest, prereleases=True)


def _plain(text: str) -> str:
    return text[:_MAX_LENGTH].encode("ascii", "replace").decode("ascii")


_ALIASES = {
    "pytorch": "torch",
    "tensorflow-gpu": "tensorflow",
    "lightning": "pytorch-lightning",
    "colossal-ai": "colossalai",
    "megatron-lm": "megatron",
}


def find_conflicts(versions: Mapping[str, str]) -> list[VersionFact]:
    """Facts that fire on `versions` (component to version as written), in the table's order.

    A version that cannot be read ("unknown") or leaves the deciding part unsaid fires nothing.
    """
    known = _readable(versions)
    return [fact for fact in load_facts() if _fires(fact, known)]


def _readable(versions: Mapping[str, str]) -> dict[str, Version]:
    known: dict[str, Version] = {}
    for name, text in versions.items():
        plain = name.strip().lower().replace("_", "-")
        component = _ALIASES.get(plain, plain)
        if (version := parse_version(text)) is not None:
            known[component] = version
        if component == "torch" and (cuda := cuda_of_torch(text)) is not None:
            known["torch-cuda"] = Version(cuda)
    return known


def _fires(fact: VersionFact, known: Mapping[str, Version]) -> bool:
    return all(
        requirement.component in known
        and surely_in(known[requirement.component], _specifiers(requirement.spec))
        for requirement in fact.when
    )


@cache
def _specifiers(spec: str) -> SpecifierSet:
    return SpecifierSet(spec)


def explained_conflicts(
    versions: Mapping[str, str], quoted: Iterable[tuple[int, str]]
) -> list[VersionConflict]:
    """Conflicts of versions that were read safely, those first that explain one of the `quoted` (line, text)."""
    lines = list(quoted)
    conflicts = [
        VersionConflict(id=fact.id, text=fact.text, source=fact.source, explains_line=_explained(fact, lines))
        for fact in find_conflicts(versions)
    ]
    return sorted(conflicts, key=lambda conflict: conflict.explains_line is None)


def _explained(fact: VersionFact, quoted: Iterable[tuple[int, str]]) -> int | None:
    pattern = _compiled(fact.explains)
    return next((line for line, text in quoted if pattern.search(text)), None)


@cache
def _compiled(pattern: str) -> re2._Regexp:
    return re2.compile(pattern)
