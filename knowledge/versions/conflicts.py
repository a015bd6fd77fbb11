"""Versions of a report against the table of facts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from knowledge.versions.facts import VersionFact, load_facts
from knowledge.versions.parsing import cuda_of_torch, parse_version, surely_in

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
