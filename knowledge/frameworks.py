"""The frameworks whose reports are read: the one source of their ids, names and spellings (frameworks.toml)."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

_FILE = Path(__file__).parent / "frameworks.toml"


class Framework(BaseModel):
    """One framework; `repositories` are lower-case "owner/name"."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    name: str
    spellings: tuple[str, ...] = ()
    packages: tuple[str, ...]
    imported: tuple[str, ...]
    """Top-level names of its code, as tracebacks have them."""
    repositories: tuple[str, ...]
    general: bool = False
    """Others are built on it, so that it is named in their reports, too."""
    built_on: str | None = None
    """The id of the framework that every job of it runs on; None for those that run on several, or on none."""


@cache
def frameworks() -> tuple[Framework, ...]:
    """All of them, the general ones first."""
    rows = tomllib.loads(_FILE.read_text("utf-8"))["framework"]
    return tuple(Framework.model_validate(row) for row in rows)


@cache
def framework_ids() -> tuple[str, ...]:
    """Every id, in the file's order."""
    return tuple(framework.id for framework in frameworks())


def framework_id(word: str) -> str | None:
    """The id that a word means: an id, another spelling or a package, in any case; None for anything else."""
    return _by_word().get(word.strip().casefold())


def framework_of_repository(repository: str) -> str | None:
    """The framework whose issues are in "owner/name"; None for any other repository."""
    return _by_repository().get(repository.lower())


@cache
def general_ids() -> frozenset[str]:
    """Frameworks that others are built on."""
    return frozenset(one.id for one in frameworks() if one.general)


@cache
def built_on(framework: str) -> frozenset[str]:
    """The ids of a framework and of those that always run on it."""
    return frozenset(one.id for one in frameworks() if framework in (one.id, one.built_on))


@cache
def _by_repository() -> dict[str, str]:
    return {repository: one.id for one in frameworks() for repository in one.repositories}


@cache
def _by_word() -> dict[str, str]:
    return {
        word.casefold(): one.id
        for one in frameworks()
        for word in (one.id, one.name, *one.spellings, *one.packages)
    }
