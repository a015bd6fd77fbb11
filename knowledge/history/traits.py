"""What the heads of a repository's labels see of a report: its words, its small words, two sentence vectors.

A record drops "how", "can" and "?", which tell a question from a fault; `small_words` keeps them, hashed. The other
words are the record's own, and the vectors are those that find the same failure.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from knowledge.history.words import counted
from knowledge.judging.features import Floats, Sparse

BUCKETS = 1 << 18
"""Of each block; the block's number stands above these bits."""
BLOCKS = ("title", "small", "words")
OPENING = 100
"""Small words of the account that are kept: most posts say what they want in their first sentences."""
_TITLE_WEIGHT = 2.0
"""Of a word in the title, beside 1 in the body."""
_SMALL = re.compile(r"[a-z']+|[?!]")


@dataclass(frozen=True, slots=True)
class Traits:
    """A report as the heads see it."""

    blocks: Mapping[str, Sparse]
    """By BLOCKS: buckets (ascending) and weights, before rarity and length."""
    vectors: Floats
    """Float32 (2 x dims)."""


def small_words(title: str, prose: str) -> bytes:
    """Words and pairs of words, those of grammar included, of the title and of the account's first 100 words.

    Packed as ascending little-endian uint32; no text can be had back from them.
    """
    found = _title_names(title), _names(_SMALL.findall(prose.lower()[: OPENING * 40])[:OPENING])
    packed = {block << 18 | _bucket(name) for block, names in enumerate(found) for name in names}
    return np.array(sorted(packed), "<u4").tobytes()


def traits_of(title: Mapping[str, int], body: Mapping[str, int], small: bytes, vectors: Floats) -> Traits:
    """The traits of a record, of which these are the fields (knowledge/history/record.py)."""
    packed = np.frombuffer(small, "<u4").astype(np.int64)
    blocks = {
        name: _ones(packed[packed >> 18 == number] & (BUCKETS - 1)) for number, name in enumerate(BLOCKS[:2])
    }
    weights = {word: 1 + float(np.log(count)) for word, count in body.items()}
    weights |= {word: max(_TITLE_WEIGHT, weights.get(word, 0)) for word in title}
    return Traits({**blocks, "words": _weighted(weights)}, vectors.reshape(-1))


def parts_of(line: str, *, in_title: bool = False) -> dict[str, npt.NDArray[np.int64]]:
    """The buckets that a line of the report accounts for, by block."""
    own = {"words": _buckets(counted(line))}
    if in_title:
        return own | {"title": _buckets(_title_names(line))}
    return own | {"small": _buckets(_names(_SMALL.findall(line.lower())))}


def _title_names(title: str) -> Iterator[str]:
    return _names(["^", *_SMALL.findall(title.lower()), "$"])


def _names(words: Sequence[str]) -> Iterator[str]:
    yield from words
    yield from (f"{first} {second}" for first, second in pairwise(words))


def _bucket(name: str) -> int:
    # CRC-32 rather than hash(): the same in every process and on every machine.
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) % BUCKETS


def _buckets(names: Iterable[str]) -> npt.NDArray[np.int64]:
    return np.array(sorted({_bucket(name) for name in names}), np.int64)


def _ones(buckets: npt.NDArray[np.int64]) -> Sparse:
    return Sparse(buckets.astype(np.int32), np.ones(len(buckets), np.float32))


def _weighted(weights: Mapping[str, float]) -> Sparse:
    packed: dict[int, float] = {}
    for name, weight in weights.items():
        bucket = _bucket(name)
        packed[bucket] = max(packed.get(bucket, 0.0), weight)
    index = np.array(sorted(packed), np.int32)
    return Sparse(index, np.array([packed[int(one)] for one in index], np.float32))
