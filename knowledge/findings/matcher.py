"""The matcher: how probable it is that an entry of the catalogue applies to a report."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from embeddings.lexical import LexicalIndex
from knowledge.errors import ModelError
from knowledge.evidence import Reading
from knowledge.findings.failure import Failure
from knowledge.findings.pairs import NAMES, Catalogue, Profiles
from knowledge.judging.blocks import write_arrays
from knowledge.judging.features import Floats

Array = npt.NDArray[np.float64]
SHIPPED = Path(__file__).parent / "matcher.npz"
_SCALE = 127.0
LEAST = 0.008
"""Below this probability an entry is not shown to whoever asks. It is low because most of the reports that set the
probabilities show no known failure; of those that do, the likeliest entry is usually right at 0.02, too."""


@dataclass(frozen=True, slots=True)
class Match:
    """An entry that may apply: how probable that is and what in the report speaks for it."""

    failure: Failure
    p: float
    lines: tuple[int, ...]
    """1-based lines of the body that tell; 0 = the title; empty = told by the account alone."""
    held: tuple[str, ...]
    sure: bool
    """As probable as its precision needs to be said unasked: by a telltale line, or as `read_by` says."""
    read_by: str = ""
    """The LLM that read the report beside the entry and found that it applies; "" = none was needed."""


CONFIRMED = 0.9
"""P(the entry applies) where an LLM confirms it."""


def confirmed(matches: Sequence[Match], found: Mapping[str, Sequence[int]], model: str) -> tuple[Match, ...]:
    """The matches, those sure that `model` confirmed: ids to the lines of the report that it named for them."""
    told = (
        replace(
            match,
            p=max(match.p, CONFIRMED),
            lines=match.lines or tuple(found[match.failure.id]),
            sure=True,
            read_by="" if match.sure else model,
        )
        if match.failure.id in found
        else match
        for match in matches
    )
    return tuple(sorted(told, key=lambda match: -match.p))


@dataclass(frozen=True, slots=True)
class Matcher:
    """Logistic regression over the numbers of a pair (report, entry)."""

    catalogue: Catalogue
    weights: Array
    threshold: float

    def matches(
        self, reading: Reading, vectors: Floats, symptom: Mapping[str, float], least: float = LEAST
    ) -> list[Match]:
        """Entries at least so probable, the most probable first."""
        pairs = self.catalogue.pairs(reading, vectors, symptom)
        p = probability(pairs.values, self.weights)
        order = [int(n) for n in np.argsort(-p, kind="stable") if p[n] >= least]
        return [
            Match(
                self.catalogue.entries[pairs.ids[n]],
                float(p[n]),
                pairs.lines[n],
                pairs.held[n],
                float(p[n]) >= self.threshold and bool(pairs.lines[n]),
            )
            for n in order
        ]


def probability(values: Array, weights: Array) -> Array:
    """P(the entry applies) of each row of `values`."""
    return np.asarray(1 / (1 + np.exp(-np.clip(values @ weights, -30, 30))))


def save_matcher(matcher: Matcher, about: Mapping[str, object], file: Path = SHIPPED) -> None:
    """Write everything but the entries' texts; vectors as int8."""
    profiles = matcher.catalogue.profiles
    arrays: dict[str, Any] = {
        f"lexical_{name}": value for name, value in profiles.lexical.to_arrays().items()
    }
    info = {"ids": profiles.ids, "names": NAMES, "threshold": matcher.threshold, **about}
    arrays |= {
        "rows": profiles.rows,
        "vectors": np.round(profiles.vectors * _SCALE).astype(np.int8),
        "rarity": matcher.catalogue.rarity.astype(np.float32),
        "weights": matcher.weights,
        "info": np.frombuffer(json.dumps(info).encode(), np.uint8),
    }
    write_arrays(file, arrays)


def learned_from(file: Path = SHIPPED) -> frozenset[str]:
    """The issues whose reports a matcher learned from, as `issue_of` writes them."""
    with np.load(file, allow_pickle=False) as arrays:
        return frozenset(json.loads(arrays["info"].tobytes())["learned"])


def load_matcher(entries: Mapping[str, Failure], model_hash: str, file: Path = SHIPPED) -> Matcher:
    """Read the shipped matcher. Raises ModelError when it is damaged or of another encoder.

    An entry that is newer than the matcher matches by its patterns alone until the next training.
    """
    remedy = "Run: make train-findings"
    try:
        # Opened here: numpy leaves a file that it cannot read open.
        with file.open("rb") as raw, np.load(raw, allow_pickle=False) as arrays:
            info = json.loads(arrays["info"].tobytes())
            lexical = {
                n.removeprefix("lexical_"): arrays[n] for n in arrays.files if n.startswith("lexical_")
            }
            rows, vectors = arrays["rows"], arrays["vectors"].astype(np.float32) / _SCALE
            rarity, weights = arrays["rarity"], arrays["weights"]
            trained_with, threshold = (info["encoder"], tuple(info["names"])), float(info["threshold"])
            ids: list[str] = info["ids"]
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise ModelError(f"Can't read {file.name} ({type(error).__name__}).", remedy) from error
    if trained_with != (model_hash, NAMES):
        raise ModelError(f"{file.name} was trained with a different encoder or different features.", remedy)
    missing = [id for id in ids if id not in entries]
    if missing:
        raise ModelError(
            f"{file.name} was trained on entries that no longer exist: {', '.join(missing[:3])}.", remedy
        )
    newer = [id for id in entries if id not in set(ids)]
    profiles = Profiles((*ids, *newer), rows, vectors, LexicalIndex.from_arrays(lexical))
    known = dict(zip(ids, rarity.tolist(), strict=True))
    return Matcher(Catalogue(entries, profiles, known), weights, threshold)
