"""What people corrected stands above what the core says. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from bot.github.records import Correction
from knowledge.corrections import Given, correct, merged
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import AxisName, Triage


def merge(corrections: Iterable[Correction]) -> dict[AxisName, tuple[str, ...]]:
    """What people set in the end, corrections oldest first."""
    return merged([correction.labels for correction in corrections])


def apply_corrections(triage: Triage, corrected: Given) -> Triage:
    """A kept triage after what people set; the same as if the core had known it."""
    return correct(triage, corrected, load_taxonomy())
