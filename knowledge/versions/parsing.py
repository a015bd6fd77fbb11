"""Versions as people and tools write them, to versions that can be compared."""

from __future__ import annotations

import re2
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

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

    A pre-release counts as its release, which it behaves like, but never as exactly that release.
    """
    if version.is_prerelease:
        if any(one.operator == "==" for one in spec):
            return False
        version = Version(version.base_version)
    if len(version.release) >= 3:
        return spec.contains(version, prereleases=True)
    latest = ".".join(str(part) for part in (*version.release, _UNSAID))
    return spec.contains(version, prereleases=True) and spec.contains(latest, prereleases=True)


def _plain(text: str) -> str:
    return text[:_MAX_LENGTH].encode("ascii", "replace").decode("ascii")
