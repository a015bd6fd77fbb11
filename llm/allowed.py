"""allowed.toml: what a draft may hold besides what its writer was shown, and what it may never hold."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import re2

_FILE = Path(__file__).parent / "allowed.toml"


@cache
def allowed() -> dict[str, Any]:
    """allowed.toml as it stands."""
    with _FILE.open("rb") as file:
        return tomllib.load(file)


@cache
def refused(rule: str) -> Any:
    """The pattern of a rule on wording, from allowed.toml."""
    return re2.compile(f"(?i){'|'.join(allowed()['refused'][rule])}")


def unsafe(text: str) -> bool:
    """Whether it names what weakens a machine or loads what nobody checked, as option, variable or argument."""
    return bool(refused("unsafe").search(text))


@cache
def words(table: str, key: str) -> frozenset[str]:
    """A list of words in allowed.toml."""
    return frozenset(str(allowed()[table][key]).split())
