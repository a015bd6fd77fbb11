"""Which entries of the failure catalogue apply to which cases: ids and labels alone, by two independent passes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LABELS = Path(__file__).with_suffix(".jsonl")


@dataclass(frozen=True, slots=True)
class FailureLabel:
    """The entries that apply to a case; empty = none of the catalogue."""

    failures: frozenset[str]
    passes: tuple[frozenset[str], ...]


@cache
def failure_labels() -> Mapping[str, FailureLabel]:
    """Labels by case id."""
    rows = map(json.loads, LABELS.read_text("utf-8").splitlines())
    return {
        row["id"]: FailureLabel(frozenset(row["failures"]), tuple(map(frozenset, row["passes"])))
        for row in rows
    }
