"""What the encoder was taught to tell apart: a linear head for each axis over a report's two vectors.

Learned together with the encoder's adapter (knowledge/training/tune.py) from cases that are never scored. Its
opinion is one source beside the likeness to labelled reports; how much it counts is fitted on scored cases.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from knowledge.errors import ModelError
from knowledge.judging.axes import Judged, axis_ids
from knowledge.judging.blocks import write_arrays
from knowledge.judging.features import Floats
from knowledge.taxonomy import Taxonomy

NEVER = -60.0
"""The bias of an id that the heads were not taught; its logarithm ends at LEAST."""
SHIPPED_HEADS = Path(__file__).parent / "tuned_heads.npz"
LEAST = -8.0
"""Log-probabilities below are cut: how impossible an id is does not matter, and one is never ruled out."""
Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TunedHeads:
    """`heads`: axis to weights (2 x dims, ids) and bias (ids,); `about`: what they were learned from."""

    heads: Mapping[Judged, tuple[Floats, Floats]]
    about: Mapping[str, Any]

    def scores(self, axis: Judged, vectors: Floats) -> list[Array]:
        """Log-probabilities (n, ids) for vectors (n, 2 x dims); nothing for an axis that was not taught."""
        if axis not in self.heads:
            return []
        weights, bias = self.heads[axis]
        raw = (vectors @ weights + bias).astype(np.float64)
        raw -= raw.max(axis=1, keepdims=True)
        return [np.maximum(raw - np.log(np.exp(raw).sum(axis=1, keepdims=True)), LEAST)]


def save_heads(
    heads: Mapping[Judged, tuple[Floats, Floats, tuple[str, ...]]], file: Path, about: Mapping[str, Any]
) -> None:
    """Write weights, bias and ids of each axis."""
    arrays: dict[str, Any] = {}
    for axis, (weights, bias, _) in heads.items():
        arrays[f"{axis}.weights"] = weights.astype(np.float16)
        arrays[f"{axis}.bias"] = bias.astype(np.float32)
    meta = {"about": about, "ids": {axis: ids for axis, (_, _, ids) in heads.items()}}
    arrays["meta"] = np.frombuffer(json.dumps(meta, sort_keys=True).encode(), np.uint8)
    write_arrays(file, arrays)


def load_heads(taxonomy: Taxonomy, file: Path = SHIPPED_HEADS) -> TunedHeads:
    """Read the heads. An id that is younger than they are gets the least probability, one that is gone is dropped.

    Raises ModelError when the file is missing or damaged, or knows none of an axis's ids.
    """
    remedy = "Restore the file, or rebuild it with: make tune"
    try:
        with file.open("rb") as raw, np.load(raw, allow_pickle=False) as arrays:
            meta = json.loads(arrays["meta"].tobytes())
            heads = {
                axis: _columns(
                    arrays[f"{axis}.weights"].astype(np.float32),
                    arrays[f"{axis}.bias"],
                    known,
                    axis_ids(taxonomy, axis),
                )
                for axis, known in meta["ids"].items()
            }
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise ModelError(f"Can't read the tuned heads in {file} ({type(error).__name__}).", remedy) from error
    if any(not set(known) & set(axis_ids(taxonomy, axis)) for axis, known in meta["ids"].items()):
        raise ModelError(f"The tuned heads in {file} were trained for a different taxonomy.", remedy)
    return TunedHeads(heads, meta["about"])


def _columns(
    weights: Floats, bias: Floats, known: Sequence[str], wanted: Sequence[str]
) -> tuple[Floats, Floats]:
    """Weights (2 x dims, ids) and bias (ids) in the order of the wanted ids."""
    place = {id_: n for n, id_ in enumerate(known)}
    columns = np.zeros((weights.shape[0], len(wanted)), np.float32)
    biases = np.full(len(wanted), NEVER, np.float32)
    for n, id_ in enumerate(wanted):
        if id_ in place:
            columns[:, n], biases[n] = weights[:, place[id_]], bias[place[id_]]
    return columns, biases
