"""A few short commands that tell the likeliest causes apart, for readers who will not run a script."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from knowledge.triage import QuickCheck

_FILE = Path(__file__).parent / "commands.toml"
MAX_COMMANDS = 3
MIN_PROBABILITY = 0.1
"""Of a cause, for its command to be worth running."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command of the data file."""

    cause: str
    symptoms: tuple[str, ...]
    run: str
    reading: str


@cache
def load_commands() -> tuple[Command, ...]:
    """All commands as the file orders them."""
    entries = tomllib.loads(_FILE.read_text("utf-8"))["command"]
    return tuple(Command(**{**entry, "symptoms": tuple(entry["symptoms"])}) for entry in entries)


def quick_checks(causes: Mapping[str, float], symptom: str | None) -> list[QuickCheck]:
    """At most three commands, for the likeliest causes first; one command a cause."""
    chosen: list[QuickCheck] = []
    for cause, p in sorted(causes.items(), key=lambda item: -item[1]):
        if p < MIN_PROBABILITY or len(chosen) == MAX_COMMANDS:
            break
        fitting = (
            c for c in load_commands() if c.cause == cause and (not c.symptoms or symptom in c.symptoms)
        )
        if command := next(fitting, None):
            chosen.append(QuickCheck(run=command.run, reading=command.reading))
    return chosen
