"""From records to what the learner sees, and whether a report, or nearly the same text, was learned from."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import numpy.typing as npt

from embeddings.encoder import Encoder
from embeddings.tokens import tokens
from knowledge.evidence import Reading, read_report
from knowledge.judging.axes import JUDGED
from knowledge.judging.features import Features, featurise
from knowledge.judging.judge import neighbour_votes
from knowledge.judging.learner import TrainingItem
from knowledge.judging.retrieve import CaseIndex, query_text
from knowledge.report import issue_of
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


# Whether a report, or nearly the same text, was learned from: evaluation refuses to score such a report.
#
# A fingerprint is the issue's id and a MinHash over the words' triples of its account (Broder 1997); two accounts
# that share most of their triples share most of the 24 minima. Fingerprints ship; the texts they came from need not.

HASHES = 24
NEAR = 0.6
"""Share of equal minima from which two texts count as near-duplicates (an estimate of their Jaccard similarity)."""
_PRIME = (1 << 31) - 1
_RANDOM = np.random.default_rng(20230101)
_A = _RANDOM.integers(1, _PRIME, HASHES, dtype=np.int64)
_B = _RANDOM.integers(0, _PRIME, HASHES, dtype=np.int64)

Minima = npt.NDArray[np.uint32]


def minima(reading: Reading) -> Minima:
    """MinHash of a report's account: uint32 (24,); all ones when there are no words."""
    words = tokens(f"{reading.report.title}\n{reading.report.body[:6000]}")
    triples = (
        {zlib.crc32(" ".join(words[n : n + 3]).encode()) for n in range(max(1, len(words) - 2))}
        if words
        else set()
    )
    if not triples:
        return np.full(HASHES, 0xFFFFFFFF, np.uint32)
    values = np.fromiter(triples, np.int64, len(triples)) % _PRIME
    return np.asarray(((values[:, None] * _A[None, :] % _PRIME + _B) % _PRIME).min(axis=0), np.uint32)


def id_hash(id: str) -> str:
    """Eight hexadecimal digits that stand for an issue's id."""
    return hashlib.sha256(issue_of(id).encode()).hexdigest()[:8]


def fingerprints(readings: Iterable[Reading]) -> dict[str, object]:
    """Ids and minima of what was learned from, as JSON can hold them."""
    known = [(id_hash(r.report.id), minima(r)) for r in readings]
    packed = np.stack([m for _, m in known]) if known else np.zeros((0, HASHES), np.uint32)
    return {"ids": [id for id, _ in known], "minima": base64.b64encode(packed.tobytes()).decode()}


@dataclass(frozen=True, slots=True)
class Learned:
    """What a judge has learned from."""

    ids: frozenset[str]
    minima: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, packed: dict[str, object]) -> Learned:
        """Read back what `fingerprints` wrote."""
        raw = base64.b64decode(str(packed["minima"]))
        ids = packed["ids"]
        assert isinstance(ids, Sequence)
        return cls(frozenset(str(id) for id in ids), np.frombuffer(raw, np.uint32).reshape(-1, HASHES))

    def joined(self, other: Learned) -> Learned:
        """What either has learned from."""
        return Learned(self.ids | other.ids, np.concatenate([self.minima, other.minima]))

    def knows(self, reading: Reading) -> str | None:
        """Why the report must not be scored ("its id ...", "a near-duplicate ..."), or None when it is new."""
        if id_hash(reading.report.id) in self.ids:
            return "its id is among what was learned from"
        own = minima(reading)
        if len(self.minima) and (self.minima == own).mean(axis=1).max() >= NEAR:
            return "a near-duplicate of its text is among what was learned from"
        return None


def near_duplicates(all_minima: npt.NDArray[np.uint32]) -> list[tuple[int, int]]:
    """Pairs of rows that are near-duplicates of each other, first below second."""
    pairs: list[tuple[int, int]] = []
    for first in range(len(all_minima) - 1):
        share = (all_minima[first + 1 :] == all_minima[first]).mean(axis=1)
        pairs += [(first, first + 1 + int(n)) for n in np.flatnonzero(share >= NEAR)]
    return pairs
