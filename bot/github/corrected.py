"""What people corrected stands above what the core says. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from bot.github.records import Correction
from knowledge.triage import Axis, AxisName, Ranked, Triage


def merge(corrections: Iterable[Correction]) -> dict[AxisName, tuple[str, ...]]:
    """Per axis the ids last given, corrections oldest first."""
    merged: dict[AxisName, tuple[str, ...]] = {}
    for correction in corrections:
        merged.update(correction.labels)
    return merged


def apply_corrections(triage: Triage, corrected: dict[AxisName, tuple[str, ...]]) -> Triage:
    """The triage with the corrected axes certain."""
    axes: dict[str, Axis] = {a: _certain(getattr(triage, a), ids) for a, ids in corrected.items() if ids}
    return triage.model_copy(update=axes) if axes else triage


def _certain(axis: Axis, ids: tuple[str, ...]) -> Axis:
    rest = [Ranked(id=r.id, p=0.0) for r in axis.ranking if r.id not in ids]
    given = [Ranked(id=id_, p=1.0) for id_ in ids]
    return Axis(ranking=given + rest, answer=list(ids), answer_set=list(ids))
