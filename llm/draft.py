"""A draft of the writer and what it was written from: the closed world that the checks hold it to."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import re2

# allowed.toml: what a draft may hold besides what its writer was shown, and what it may never hold.

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


Role = Literal["what", "why", "check", "fix", "question"]
CORE: tuple[frozenset[Role], ...] = (frozenset({"what", "why"}), frozenset({"check", "fix"}))
"""One sentence of each set must be left, or nothing is said."""
REASONING = "reasoning"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence with what it rests on: line numbers, ids of entries and cases, or the model's reasoning."""

    text: str
    role: Role
    lines: tuple[int, ...] = ()
    entries: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    reasoning: bool = False
    unknown: tuple[str, ...] = ()
    """Cited, and neither a line nor an id that was shown."""
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Snippet:
    """A command or a piece of code, and what it is for."""

    language: str
    text: str
    purpose: str
    after: int = 0
    """The number of the sentence that it follows, from 1; 0 = it comes last."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What the writer drafted; `silent` is its reason to say nothing, "" otherwise."""

    sentences: tuple[Sentence, ...] = ()
    commands: tuple[Snippet, ...] = ()
    code: tuple[Snippet, ...] = ()
    silent: str = ""


@dataclass(frozen=True, slots=True)
class Material:
    """What the writer was shown, apart by who wrote it."""

    lines: Mapping[int, str]
    """The report's lines, 0 the title; strangers wrote them."""
    entries: Mapping[str, str] = field(default_factory=dict)
    """Id of a known failure to its text as shown; ours."""
    cases: Mapping[str, str] = field(default_factory=dict)
    """Id of an earlier case to its text as shown; titles are strangers', resolutions were checked."""
    ours: str = ""
    """Versions, conflicts, diagnostics and checks, in our words."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Component to version, as read out of the report by our tables."""
