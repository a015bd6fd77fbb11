"""The axes that are judged, and their closed sets of ids."""

from __future__ import annotations

from typing import Literal, get_args

from knowledge.taxonomy import Taxonomy
from knowledge.triage import CaseLabels

Judged = Literal["type", "distributed", "stage", "symptom", "cause", "fix", "topic"]
JUDGED: tuple[Judged, ...] = get_args(Judged)

COUPLED: tuple[Judged, ...] = ("symptom", "stage", "cause", "fix", "type", "distributed", "topic")
"""The order of judging: symptom first, since stage, fix and cause are told from it, too."""
DISTRIBUTED = ("distributed", "single_device")


def axis_ids(taxonomy: Taxonomy, axis: Judged) -> tuple[str, ...]:
    """The closed set of ids of an axis; D.1.other and D.2.other are judged as D.other, as most labels have it."""
    if axis == "distributed":
        return DISTRIBUTED
    if axis == "symptom":
        return tuple(id for id in taxonomy.ids("symptom") if id not in ("D.1.other", "D.2.other"))
    return taxonomy.ids(axis)


def labels_of(labels: CaseLabels, axis: Judged) -> tuple[str, ...]:
    """The ids that count as right on an axis; empty = not known (unscored, which is not zero)."""
    if axis == "type":
        return (labels.type,)
    if axis == "topic":
        return (labels.topic,) if labels.topic else ()
    if labels.type != "fault":
        return ()
    if axis == "distributed":
        return () if labels.distributed is None else (DISTRIBUTED[0 if labels.distributed else 1],)
    ids: list[str] = getattr(labels, axis)
    return tuple(dict.fromkeys("D.other" if id in ("D.1.other", "D.2.other") else id for id in ids))
