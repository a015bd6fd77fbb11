"""A reading as numbers: hashed words, cues, signatures and form, and two sentence vectors."""

from __future__ import annotations

import tomllib
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, islice, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import re2

from embeddings.encoder import Encoder
from embeddings.tokens import tokens
from knowledge.evidence import Reading
from knowledge.evidence.lines import Kind
from knowledge.report import Report

# Cues: the ideas of a report in plain words, as names the judge can learn from.

_FILE = Path(__file__).with_name("cues.toml")


@cache
def _table() -> tuple[tuple[str, ...], re2.Set, tuple[int, ...]]:
    with _FILE.open("rb") as file:
        cues: dict[str, str] = tomllib.load(file)["cue"]
    options = re2.Options()
    options.max_mem = 256 << 20
    options.never_capture = True
    options.case_sensitive = False
    together = re2.Set.SearchSet(options)
    for pattern in cues.values():
        together.Add(pattern)
    together.Compile()
    return tuple(cues), together, tuple(range(len(cues)))


def cue_names() -> tuple[str, ...]:
    """Every cue, in the order of the table."""
    return _table()[0]


def find_cues(text: str) -> tuple[str, ...]:
    """The cues in a text, in the order of the table; one pass, linear in its length."""
    names, together, _ = _table()
    return tuple(names[index] for index in sorted(together.Match(text) or ()))


BUCKETS = 1 << 15
_WORD = re2.compile(r"[a-z]+|\?")


class _WordsOnly(dict[int, str]):
    """For str.translate: lower-case letters, digits and ends of lines stay, all else becomes a space."""

    def __missing__(self, code: int) -> str:
        kept = code == 10 or 48 <= code <= 57 or 97 <= code <= 122
        self[code] = chr(code) if kept else " "
        return self[code]


_WORDS_ONLY = _WordsOnly()


def title_block(report: Report) -> Sparse:
    """Words and pairs of words of the title, small words and question marks included, with its start and end."""
    words = ["^", *_WORD.findall(report.title.lower()), "$"]
    weights = {f"{first} {second}": 0.8 for first, second in pairwise(words)}
    return _with_repository(weights | dict.fromkeys(words, 1.0), report)


def text_block(report: Report) -> Sparse:
    """Words and pairs of words of title and body, the template's included."""
    return _with_repository(ngram_weights([(1.5, report.title), (1.0, report.body[:4000])]), report)


def lines_block(report: Report) -> Sparse:
    """Whole lines: a filled template is told by its headings."""
    words = report.body.lower().translate(_WORDS_ONLY)
    lines = (" ".join(line.split())[:60] for line in words.split("\n"))
    return _with_repository({line: 1.0 for line in lines if len(line) > 3}, report)


def _with_repository(weights: dict[str, float], report: Report) -> Sparse:
    repository = report.id.rpartition("#")[0].lower()
    if "/" in repository:
        weights |= {f"{repository}|{name}": weight for name, weight in weights.items()}
    return hashed(weights, BUCKETS)


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


WORD_BUCKETS = 1 << 15
CUE_BUCKETS = 1 << 13
REPEATS = 3
LONGEST_WORD = 80
MAX_EMBEDDED = 700
"""Characters of a view that are embedded: about 170 tokens; what decides stands in the first sentences."""


@dataclass(frozen=True, slots=True)
class Features:
    """What the judge sees of a report."""

    words: Sparse
    """The account: title, decisive lines, prose, a little of the rest."""
    cues: Sparse
    """Cues, pairs of cues, signatures and what these speak for, framework and launcher."""
    title: Sparse
    text: Sparse
    lines: Sparse
    """These three: the post as it stands, for the type and whether it is distributed."""
    vectors: Floats
    """Float32 (2 x dims): title with prose; title with decisive lines. Each half has unit length."""


def views(reading: Reading) -> tuple[str, str]:
    """The two texts that are embedded: the reporter's account, and the lines that decide."""
    title = reading.report.title
    decisive = " ".join(d.text[:200] for d in reading.decisive[:7] if not d.in_title)
    prose = " ".join(islice(_fresh(reading.prose), MAX_EMBEDDED))
    return f"{title}. {prose}"[:MAX_EMBEDDED], f"{title}. {decisive}"[:MAX_EMBEDDED]


def _fresh(text: str) -> Iterator[str]:
    """Words, but of what repeats itself only the first few: a thousand mentions must not fill the view."""
    seen: Counter[tuple[str, str]] = Counter()
    before = ""
    for found in text.split():
        word = found[:LONGEST_WORD]
        seen[before, word] += 1
        if seen[before, word] <= REPEATS:
            yield word
        before = word


def embed(readings: Sequence[Reading], encoder: Encoder) -> Floats:
    """Vectors of both views of each reading, one behind the other: float32 (n, 2 x dims)."""
    vectors = encoder.encode([view for reading in readings for view in views(reading)])
    return vectors.reshape(len(readings), 2 * encoder.dims)


def featurise(readings: Sequence[Reading], encoder: Encoder) -> list[Features]:
    """Features of each reading; embedding is the costly part, so give many at once."""
    return [
        Features(
            _words(reading),
            cue_block(reading),
            title_block(reading.report),
            text_block(reading.report),
            lines_block(reading.report),
            pair,
        )
        for reading, pair in zip(readings, embed(readings, encoder), strict=True)
    ]


def _words(reading: Reading) -> Sparse:
    decisive = [d for d in reading.decisive if not d.in_title]
    weights = ngram_weights(
        [
            (1.5, reading.report.title),
            (1.3, "\n".join(d.text for d in decisive[:5])),
            (0.7, "\n".join(d.text for d in decisive[5:20])),
            (1.0, reading.prose[:3000]),
            (0.3, reading.text_of(Kind.COMMAND, Kind.ENVIRONMENT)[:1500]),
            (0.25, reading.text_of(Kind.CODE)[:2000]),
            (0.35, reading.text_of(Kind.LOG)[:4000]),
        ]
    )
    return hashed(weights, WORD_BUCKETS)


def cue_block(reading: Reading) -> Sparse:
    """Cues, pairs of cues, signatures and what these speak for, framework and launcher."""
    decisive = "\n".join(d.text for d in reading.decisive[:8] if not d.in_title)
    in_title = find_cues(reading.report.title)
    told = find_cues(reading.prose[:2500])
    shown = find_cues(decisive)
    present = sorted({*in_title, *told, *shown})
    weights: dict[str, float] = {}
    for cue in present:
        weights[cue] = 1.0
    for cue in in_title:
        weights[f"title:{cue}"] = 1.2
    for cue in shown:
        weights[f"shown:{cue}"] = 0.8
    for first, second in combinations(present, 2):
        weights[f"{first}&{second}"] = 0.35
    for line, hit in reading.hits:
        signature = hit.signature
        strength = {"root": 1.0, "consequence": 0.4, "context": 0.3}[signature.role]
        strength *= 1.3 if line == 0 else 1.0
        _raise(weights, f"sig:{signature.id}", strength)
        for ids in (signature.symptom, signature.cause, signature.fix):
            for position, label in enumerate(ids[:3]):
                _raise(weights, f"for:{label}", strength * (1.5 if position == 0 else 0.7))
    if reading.framework:
        weights[f"framework:{reading.framework}"] = 0.8
    if reading.launcher:
        weights[f"launcher:{reading.launcher}"] = 0.5
    return hashed(weights, CUE_BUCKETS)


def _raise(weights: dict[str, float], name: str, weight: float) -> None:
    weights[name] = max(weights.get(name, 0.0), weight)
