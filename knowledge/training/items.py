"""From records to what the learner sees: read, featurise, and look up the nearest cases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from embeddings.encoder import Encoder
from knowledge.evidence import Reading, read_report
from knowledge.issues import issue_of
from knowledge.judging.axes import JUDGED
from knowledge.judging.features import Features, featurise
from knowledge.judging.judge import neighbour_votes
from knowledge.judging.learner import TrainingItem
from knowledge.judging.retrieve import CaseIndex, query_text
from knowledge.signatures import SignatureTable
from knowledge.taxonomy import Taxonomy
from knowledge.training.records import TrainingRecord, target

KEPT_OF_COMPOSED = 6
"""One composed distributed fault in this many teaches the type and whether a fault is distributed: nearly all composed
cases are such faults, and would drown the others."""
VOTERS = 30
"""Nearest cases looked up for votes; `neighbour_votes` takes the first dozen that are left."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A record with its reading and features: the part that no fold changes."""

    record: TrainingRecord
    reading: Reading
    features: Features


def prepare(
    records: Sequence[TrainingRecord],
    table: SignatureTable,
    encoder: Encoder,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Prepared]:
    """Read and featurise records, in batches so that `progress` hears how many are done."""
    out: list[Prepared] = []
    for start in range(0, len(records), 64):
        batch = records[start : start + 64]
        readings = [read_report(record.report, table) for record in batch]
        features = featurise(readings, encoder)
        out += [Prepared(*each) for each in zip(batch, readings, features, strict=True)]
        progress(len(batch))
    return out


def index_of(prepared: Sequence[Prepared]) -> CaseIndex:
    """Index the given cases (the shipped corpus, or what a fold leaves of it)."""
    return CaseIndex.build(
        [p.record.report.id for p in prepared],
        [query_text(p.reading) for p in prepared],
        np.stack([p.features.vectors for p in prepared]),
    )


def training_items(
    prepared: Sequence[Prepared], corpus: Sequence[Prepared], taxonomy: Taxonomy
) -> list[TrainingItem]:
    """Items for the learner; votes for those that calibrate, from `corpus` without their own issue."""
    index = index_of(corpus)
    return [_item(p, index, {c.record.report.id: c.record for c in corpus}, taxonomy) for p in prepared]


def _item(
    p: Prepared, index: CaseIndex, corpus: dict[str, TrainingRecord], taxonomy: Taxonomy
) -> TrainingItem:
    labels = {axis: target(p.record, axis) for axis in JUDGED}
    composed_fault = p.record.source == "composed" and p.record.labels.distributed
    if composed_fault and crc32(p.record.group.encode()) % KEPT_OF_COMPOSED:
        labels["type"] = labels["distributed"] = {}
    votes = {}
    if p.record.calibrates and labels["symptom"]:
        own: Collection[str] = [id for id in corpus if issue_of(id) == p.record.group]
        hits = index.search(p.reading, p.features, VOTERS, leave_out=own)
        votes = neighbour_votes([(corpus[id].labels, score) for id, score in hits], taxonomy)
    return TrainingItem(p.record.group, p.features, labels, votes, p.record.weight, p.record.calibrates)
