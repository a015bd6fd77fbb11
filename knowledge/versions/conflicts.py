"""Versions of a report against the table of facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

import re2
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from knowledge.triage import VersionConflict
from knowledge.versions.facts import VersionFact, load_facts

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
