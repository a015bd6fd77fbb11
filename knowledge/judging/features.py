"""A reading as numbers: hashed words, cues, signatures and form, and two sentence vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from embeddings.encoder import Encoder
from knowledge.evidence import Reading
from knowledge.evidence.lines import Kind
from knowledge.judging import form
from knowledge.judging.cues import find_cues
from knowledge.judging.hashing import Floats, Sparse, hashed, ngram_weights

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
    """These three: the post as it stands (knowledge/judging/form.py), for the type and whether it is distributed."""
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
            form.title_block(reading.report),
            form.text_block(reading.report),
            form.lines_block(reading.report),
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
