"""Named features hashed into a fixed number of buckets."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from embeddings.tokens import tokens

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Sparse:
    """Weights of hashed features: `index` int32 (k,) ascending, `weight` float32 (k,)."""

    index: npt.NDArray[np.int32]
    weight: Floats


def hashed(weights: Mapping[str, float], buckets: int) -> Sparse:
    """Hash the names; where two meet in one bucket the larger weight stands."""
    packed: dict[int, float] = {}
    for name, weight in weights.items():
        # CRC-32 rather than hash(): the same in every process and on every machine.
        bucket = zlib.crc32(name.encode("utf-8", "surrogatepass")) % buckets
        packed[bucket] = max(packed.get(bucket, 0.0), weight)
    index = np.fromiter(sorted(packed), np.int32, len(packed))
    return Sparse(index, np.fromiter((packed[i] for i in index.tolist()), np.float32, len(packed)))


def ngram_weights(parts: Iterable[tuple[float, str]]) -> dict[str, float]:
    """Words and pairs of neighbouring words; a feature has the largest weight of the parts it stands in."""
    weights: dict[str, float] = {}
    for weight, text in parts:
        words = tokens(text)
        for word in set(words):
            weights[word] = max(weights.get(word, 0.0), weight)
        for pair in set(pairwise(words)):
            name = " ".join(pair)
            weights[name] = max(weights.get(name, 0.0), 0.7 * weight)
    return weights
