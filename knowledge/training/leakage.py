"""Whether a report, or nearly the same text, was learned from: evaluation refuses to score such a report.

A fingerprint is the issue's id and a MinHash over the words' triples of its account (Broder 1997); two accounts
that share most of their triples share most of the 24 minima. Fingerprints ship; the texts they came from need not.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from embeddings.tokens import tokens
from knowledge.evidence import Reading
from knowledge.issues import issue_of

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
