"""Made-up records in any number, shaped like those of a real tracker; the same ones for the same seed.

The shape is that of 2,503 Hadoop reports: words a record, how common the commonest words are, how many new words come
with each record, how near neighbours' vectors lie. `python -m tests.knowledge.history.scale shape` prints both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from knowledge.history.record import Record

DIMS = 384
_BLOCK = 2_000
_TOPICS = 200
_VOCABULARY = 60_000
_ONCE = 0.08
"""Share of words that no other record has: names, numbers, ids."""
_ERRORS = 0.3
"""Share of records that show an error."""
_SIGNATURES, _VERSIONS = 480, 2_000
"""Different ones. A record with an error has a signature, and every second record three versions: on GitHub, 31 % of
2,922 reports have signatures, and 55 % have versions, 2.6 each."""
_AGAIN = 0.35
"""Share of records that show a failure which an earlier one shows."""
_MEANS = (0.39, 0.50)
"""Length of the mean of all vectors, of the title's and of the account's."""
_SHARES = (0.38, 0.36)
"""Of a vector's variance: topic, failure; the rest is the record's own."""
_DAY_ONE = datetime(2015, 1, 1, tzinfo=UTC)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def records(count: int, seed: int = 1) -> Iterator[Record]:
    """Yield so many records, an hour apart, oldest first."""
    for start in range(0, count, _BLOCK):
        yield from _block(start, min(_BLOCK, count - start), seed)


def _block(start: int, count: int, seed: int) -> Iterator[Record]:
    rng = np.random.default_rng((seed, start))
    numbers = np.arange(start, start + count)
    again = rng.random(count) < _AGAIN
    failures = np.where(again, (rng.random(count) * numbers).astype(np.int64), numbers)
    vectors = _vectors(failures, seed, rng)
    for number, failure, pair in zip(numbers.tolist(), failures.tolist(), vectors, strict=True):
        body = int(min(400, rng.lognormal(3.5, 0.95)))
        error = int(min(150, rng.lognormal(3.05, 0.7))) if _noise(failure, 9, 1, seed)[0] < _ERRORS else 0
        yield Record(
            id=str(number),
            opened=_DAY_ONE + timedelta(hours=number),
            title=_words(rng, failure, "t", 8, seed),
            body=_words(rng, failure, "b", body, seed),
            error=_words(rng, failure, "e", error, seed),
            frames=(),
            exception="",
            lines=(),
            signatures=_signatures(failure, seed) if error else (),
            versions=_versions(number, seed),
            state="closed",
            resolution="",
            vectors=pair,
        )


def _words(rng: np.random.Generator, failure: int, part: str, count: int, seed: int) -> dict[str, int]:
    """A third of the failure's, the rest the record's own; common words as common as Zipf's law has it."""
    shared = _noise(failure, ord(part), count // 3, seed)
    drawn = np.concatenate([shared, rng.random(count - len(shared))])
    ranks = _ranks(drawn, _VOCABULARY)
    once = rng.random(count) < _ONCE
    fresh = rng.integers(1 << 40, size=count)
    times = np.minimum(rng.geometric(0.62, count), 40)
    # Titles and errors have common words of their own: an error's are rare in titles.
    shift = {"t": 3, "b": 0, "e": 30}[part]
    names = np.where(once, fresh + _VOCABULARY, ranks + shift)
    return {f"w{name}": n for name, n in zip(names.tolist(), times.tolist(), strict=True)}


def _signatures(failure: int, seed: int) -> tuple[str, ...]:
    return tuple(f"s{rank}" for rank in _ranks(_noise(failure, 10, 1, seed), _SIGNATURES).tolist())


def _versions(number: int, seed: int) -> dict[str, str]:
    """Of three components of five."""
    if number % 2:
        return {}
    ranks = _ranks(_noise(number, 11, 3, seed), _VERSIONS).tolist()
    return {f"part{(number + n) % 5}": f"v{rank}" for n, rank in enumerate(ranks)}


def _ranks(drawn: Floats, count: int) -> Ints:
    """Zipf-Mandelbrot by its inverse: rank r of so many with a share of about 1 / (r + 4)."""
    return np.asarray((4 * ((1 + count / 4) ** drawn - 1)).astype(np.int64))


def _noise(number: int, part: int, count: int, seed: int) -> Floats:
    """Uniform numbers that depend on the arguments alone; far cheaper than a generator of its own."""
    at = np.arange(count, dtype=np.uint64) + np.uint64(((number * 131 + part) * 1_000 + seed) & 0xFFFFFFFF)
    at = (at ^ (at >> np.uint64(15))) * np.uint64(0x9E3779B97F4A7C15)
    at = (at ^ (at >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray((at >> np.uint64(11)).astype(float) / (1 << 53))


def _vectors(failures: Ints, seed: int, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """Unit vectors, (records, 2, DIMS): a common mean, then topics, failures in them, and the record's own."""
    fixed = np.random.default_rng(seed)
    turned = np.linalg.qr(fixed.standard_normal((DIMS, DIMS)))[0]
    spread = (np.arange(DIMS) + 8.0) ** -1.3
    spread = np.sqrt(spread / spread.sum())
    topics = fixed.standard_normal((_TOPICS, DIMS))
    topic = (_TOPICS * (failures * 0.6180339887 % 1) ** 2).astype(np.int64)
    of_failure = _of_each(failures, seed)
    out = np.empty((len(failures), 2, DIMS), np.float32)
    for view, mean in enumerate(_MEANS):
        own = rng.standard_normal((len(failures), DIMS))
        parts = np.sqrt([*_SHARES, 1 - sum(_SHARES)])
        mixed = parts[0] * topics[topic] + parts[1] * of_failure + parts[2] * own
        centre = np.zeros(DIMS)
        centre[-1] = mean
        vectors = (np.sqrt(1 - mean**2) * mixed * spread + centre) @ turned
        out[:, view] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return out


def _of_each(failures: Ints, seed: int) -> Floats:
    """A normal vector for each failure, (failures, DIMS)."""
    return np.stack(
        [
            np.random.Generator(np.random.SFC64((seed, failure))).standard_normal(DIMS)
            for failure in failures.tolist()
        ]
    )
