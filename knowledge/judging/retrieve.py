"""Similar cases: lexical and semantic hits over several views of a case, fused."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from embeddings.fusion import fuse
from embeddings.index import VectorIndex
from embeddings.lexical import LexicalIndex
from knowledge.evidence import Reading
from knowledge.judging.features import Features, Floats

DEPTH = 40
"""Hits taken from each index before they are fused."""


@dataclass(frozen=True, slots=True)
class CaseIndex:
    """Both indexes over the same cases; keys are case ids."""

    lexical: LexicalIndex
    semantic: VectorIndex

    @classmethod
    def build(cls, keys: Sequence[str], texts: Sequence[str], vectors: Floats) -> CaseIndex:
        """Index `texts` and `vectors` (n, 2 x dims), both halves of a row under the same key."""
        half = vectors.shape[1] // 2
        both = np.concatenate([vectors[:, :half], vectors[:, half:]])
        return cls(
            LexicalIndex.build(keys, texts), VectorIndex.build([*keys, *keys], np.ascontiguousarray(both))
        )

    def search(
        self, reading: Reading, features: Features, k: int, leave_out: Collection[str] = ()
    ) -> list[tuple[str, float]]:
        """The `k` nearest case ids with their fused score (0..1), nearest first, without those left out."""
        half = len(features.vectors) // 2
        lists = [
            self.lexical.search(query_text(reading), DEPTH),
            self.semantic.search(features.vectors[:half], DEPTH),
            self.semantic.search(features.vectors[half:], DEPTH),
        ]
        hits = fuse(lists, k=k + len(leave_out))
        return [(key, score) for key, score in hits if key not in leave_out][:k]


def query_text(reading: Reading) -> str:
    """The words that retrieval compares: title, decisive lines and the start of the prose."""
    decisive = "\n".join(d.text for d in reading.decisive[:6] if not d.in_title)
    return f"{reading.report.title}\n{decisive}\n{reading.prose[:1500]}"
