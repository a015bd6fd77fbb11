"""Soft labels: how probable each label of a training text is to a second reader who was not shown its labels.

A label says what was meant or what a thread later showed; a post by itself is often open between two ids, and a
judge that learns how open it is ranks its doubts better (measured in docs/evaluation.md). Only texts that are learned
from and never scored have them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from knowledge.judging.axes import Judged, labels_of
from knowledge.taxonomy import load_taxonomy
from knowledge.training.records import TrainingRecord, read_jsonl

SOFT_LABELS = Path(__file__).parent / "soft_labels.jsonl"
"""One line a text: {"id", "symptom": {id: probability}, "cause": {...}, "fix": {...}}."""
SHARE = 0.5
"""Of the second reader in what is learned; the other half is the label's."""

Target = Mapping[str, float]


def target(record: TrainingRecord, axis: Judged) -> Target:
    """What is to be learned on an axis: id to probability, summing to 1; empty when nothing is known."""
    right = labels_of(record.labels, axis)
    hard = {id: 1 / len(right) for id in right}
    soft = _soft(record, axis)
    if not soft or not hard:
        return hard or soft
    return {
        id: (1 - SHARE) * hard.get(id, 0.0) + SHARE * soft.get(id, 0.0)
        for id in dict.fromkeys([*hard, *soft])
    }


def _soft(record: TrainingRecord, axis: Judged) -> Target:
    told = _all().get(record.report.id, {}) if not record.calibrates and record.labels.type == "fault" else {}
    if axis != "stage":
        return told.get(axis, {})
    stages: defaultdict[str, float] = defaultdict(float)
    for symptom, share in told.get("symptom", {}).items():
        stages[load_taxonomy().stage_of(symptom)] += share
    return stages


@cache
def _all() -> Mapping[str, Mapping[str, Target]]:
    """Shares of each axis sum to 1, whatever rounding left."""
    return {
        row["id"]: {
            axis: {id: share / sum(of.values()) for id, share in of.items()}
            for axis, of in row.items()
            if axis != "id" and of
        }
        for row in read_jsonl(SOFT_LABELS)
    }
