"""The gate before the judge: is this a report of our field, and can it be judged at all?

A linear head over words, cues and sentence vectors tells other fields; rules tell what holds too little text and what
cannot be read (knowledge/judging/legible.py). The head never sees the repository's name: text alone must do. A report
of a repository that is known to be of the field is turned away only when its text is far from it.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from knowledge.errors import ModelError
from knowledge.evidence import Reading
from knowledge.evidence.framework_found import framework_of
from knowledge.judging.arrays import write_arrays
from knowledge.judging.blocks import SPARSE, Weighting
from knowledge.judging.features import Features, Floats, cue_block
from knowledge.judging.legible import (
    has_log,
    is_bare_log,
    names_a_framework,
    names_our_machinery,
    says_too_little,
)
from knowledge.triage import Scope

FORMAT = 1
SHIPPED_SCOPE = Path(__file__).parent / "scope.npz"
SHARES: Mapping[str, float] = {"vectors": 0.3, "words": 1.0, "cues": 2.0}
"""Share of each block of features in the head; figures move little between a third and three times of each."""
KNOWN_REPOSITORY = 0.25
"""By how much less a report of a repository of the field must look like one; scores go from 0 to 1."""
BARE_LOG = 0.2
"""The same for a log that nobody says anything about: the head learned from posts that do."""
_REMEDY = "Restore the file, or rebuild it with: make train"


@dataclass(frozen=True, slots=True)
class ScopeHead:
    """Linear weights of each block (features,), and the score from which a report is of our field."""

    weighting: Weighting
    prior: float
    weights: Mapping[str, Floats]
    named: float
    """Added where the text names a framework."""
    threshold: float
    about: Mapping[str, Any]

    def score(self, features: Features, *, named: bool) -> float:
        """How much a report looks like one of our field: about 0 to 1, higher is more."""
        total = self.prior + self.named * named + float(features.vectors @ self.weights["vectors"])
        for name, block in self.weights.items():
            if name != "vectors":
                unit = self.weighting.unit(features, name)
                total += float(unit.weight @ block[unit.index])
        return total

    def scope(self, reading: Reading, heard: Reading, features: Features) -> Scope:
        """The scope of a report; `heard` is what of it can be read, and `features` are of that."""
        known = framework_of(reading.report.id) is not None
        score = self.score(by_text(heard, features), named=counts_as_named(heard))
        return scope_by(score, self.threshold, heard, silent=heard is not reading, known=known)


def scope_by(score: float, threshold: float, heard: Reading, *, silent: bool, known: bool) -> Scope:
    """The scope of a report that looks so much (`score`) like one of the field.

    `silent`: its prose could not be read; `known`: its repository is known to be of the field.
    """
    if silent and not has_log(heard):
        return "unreadable"
    if says_too_little(heard):
        return "too_little"
    less = max(KNOWN_REPOSITORY * known, BARE_LOG * is_bare_log(heard))
    return "ours" if score >= threshold - less or names_our_machinery(heard) else "other_field"


def counts_as_named(heard: Reading) -> bool:
    """Whether the text names a framework: hardly a post of another field does. Of a bare log it is not expected."""
    return is_bare_log(heard) or names_a_framework(heard)


def by_text(reading: Reading, features: Features) -> Features:
    """The features without the framework, which may be known from the repository rather than the text."""
    return replace(features, cues=cue_block(replace(reading, framework=None)))


def save_scope(head: ScopeHead, file: Path) -> None:
    """Write the head. The same head gives the same bytes."""
    arrays: dict[str, Any] = {"vectors": head.weights["vectors"].astype(np.float16)}
    for name, block in head.weights.items():
        if name != "vectors":
            idf = head.weighting.idf[name]
            arrays[f"idf.{name}"] = idf.astype(np.float16)
            arrays[name] = block[np.flatnonzero(idf)].astype(np.float16)
    meta = {
        "format": FORMAT,
        "about": head.about,
        "prior": head.prior,
        "named": head.named,
        "threshold": head.threshold,
    }
    arrays["meta"] = np.frombuffer(json.dumps(meta, sort_keys=True).encode(), np.uint8)
    write_arrays(file, arrays)


def load_scope(file: Path = SHIPPED_SCOPE) -> ScopeHead:
    """Read the head. Raises ModelError when the file is missing, damaged or of another format."""
    try:
        with file.open("rb") as raw, np.load(raw, allow_pickle=False) as arrays:
            meta = json.loads(arrays["meta"].tobytes())
            if meta.get("format") != FORMAT:
                raise ModelError(
                    f"{file} has format {meta.get('format')}, this version reads {FORMAT}.", _REMEDY
                )
            names = [name for name in SHARES if name != "vectors"]
            idf = {name: arrays[f"idf.{name}"].astype(np.float32) for name in names}
            weights: dict[str, Floats] = {"vectors": arrays["vectors"].astype(np.float32)}
            for name in names:
                weights[name] = np.zeros(SPARSE[name], np.float32)
                weights[name][np.flatnonzero(idf[name])] = arrays[name]
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise ModelError(
            f"The weights of the gate in {file} cannot be read ({type(error).__name__}).", _REMEDY
        ) from error
    return ScopeHead(Weighting(idf), meta["prior"], weights, meta["named"], meta["threshold"], meta["about"])
