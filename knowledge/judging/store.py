"""The judge on disk: plain arrays and JSON, never a pickle.

Weights are kept as int8 with one scale a column: a quarter of the size or less, and the rounding moves a
probability by less than its second decimal. Of the exemplars no text is kept.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from embeddings.encoder import Encoder
from knowledge.errors import ModelError
from knowledge.judging.arrays import write_arrays
from knowledge.judging.axes import Judged
from knowledge.judging.blocks import LINEAR_BLOCKS, SPARSE, Weighting
from knowledge.judging.calibrate import Calibration
from knowledge.judging.exemplars import COMPARED, Exemplars, Rows
from knowledge.judging.features import Floats
from knowledge.judging.judge import AxisHead, Judge
from knowledge.judging.tuned import TunedHeads, load_heads
from knowledge.taxonomy import Taxonomy

FORMAT = 3
SHIPPED = Path(__file__).parent / "judge.npz"
_REMEDY = "Restore the file, or rebuild it with: make train"


def save_judge(judge: Judge, file: Path, about: dict[str, Any]) -> None:
    """Write the judge; `about` says what it was made of. The same judge gives the same bytes."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, idf in judge.weighting.idf.items():
        arrays[f"idf.{name}"] = idf.astype(np.float16)
    arrays |= _exemplar_arrays(judge)
    meta: dict[str, Any] = {"format": FORMAT, "about": about, "axes": {}}
    for axis, head in judge.heads.items():
        c = head.calibration
        meta["axes"][axis] = {"ids": head.ids, "weights": c.weights, "threshold": c.threshold, "mass": c.mass}
        arrays[f"{axis}.prior"] = head.prior
        if head.alpha is not None:
            arrays[f"{axis}.alpha"] = head.alpha.astype(np.float16)
        for name, block in head.weights.items():
            if name == "vectors":
                arrays[f"{axis}.vectors"] = block.astype(np.float16)
                continue
            used = np.flatnonzero(judge.weighting.idf[name])
            scale = np.maximum(np.abs(block).max(axis=0), 1e-9) / 127
            arrays[f"{axis}.{name}.scale"] = scale.astype(np.float32)
            arrays[f"{axis}.{name}"] = np.rint(block[used] / scale).astype(np.int8)
    arrays["meta"] = np.frombuffer(json.dumps(meta, sort_keys=True).encode(), np.uint8)
    write_arrays(file, arrays)


def _exemplar_arrays(judge: Judge) -> dict[str, np.ndarray[Any, Any]]:
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, rows in judge.exemplars.rows.items():
        counts = np.bincount(rows.row, minlength=judge.exemplars.count)
        arrays[f"exemplars.{name}.count"] = counts.astype(np.uint16)
        arrays[f"exemplars.{name}.index"] = rows.index.astype(np.uint16)
        # Rows have unit length, so no weight is above one.
        arrays[f"exemplars.{name}.weight"] = np.rint(rows.weight * 255).astype(np.uint8)
    return arrays


def _exemplars(arrays: Any) -> Exemplars:
    rows = {name: _rows(arrays, name) for name in COMPARED}
    return Exemplars(len(arrays[f"exemplars.{COMPARED[0]}.count"]), rows)


def _rows(arrays: Any, name: str) -> Rows:
    counts = arrays[f"exemplars.{name}.count"].astype(np.int64)
    return Rows(
        np.repeat(np.arange(len(counts), dtype=np.int32), counts),
        arrays[f"exemplars.{name}.index"].astype(np.int32),
        arrays[f"exemplars.{name}.weight"].astype(np.float32) / 255,
    )


def load_judge(
    taxonomy: Taxonomy, file: Path = SHIPPED, tuned: TunedHeads | None = None
) -> tuple[Judge, dict[str, Any]]:
    """The judge, with the shipped tuned heads unless others are given, and what it was made of.

    Raises ModelError when the file is missing or of another format.
    """
    try:
        # Opened here: numpy leaves a file that it cannot read open.
        with file.open("rb") as raw, np.load(raw, allow_pickle=False) as arrays:
            meta = json.loads(arrays["meta"].tobytes())
            if meta.get("format") != FORMAT:
                raise ModelError(
                    f"{file} has format {meta.get('format')}, this version reads {FORMAT}.", _REMEDY
                )
            idf = {name: arrays[f"idf.{name}"].astype(np.float32) for name in SPARSE}
            exemplars = _exemplars(arrays)
            heads = {axis: _head(arrays, axis, entry, idf) for axis, entry in meta["axes"].items()}
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise ModelError(
            f"The judge's weights in {file} cannot be read ({type(error).__name__}).", _REMEDY
        ) from error
    return Judge(Weighting(idf), exemplars, heads, tuned or load_heads(taxonomy), taxonomy), meta["about"]


def check_encoder(about: Mapping[str, Any], encoder: Encoder) -> None:
    """Raises ModelError unless the judge, of which this is what it was made of, was trained with this encoder."""
    if about["encoder"] != encoder.model_hash:
        raise ModelError(
            "The judge was trained with another embedding model.",
            "Unset DISTRIAGE_MODEL_DIR, or point it at the all-MiniLM-L6-v2 files. After `make tune`, run: make train.",
        )


def _head(arrays: Any, axis: Judged, entry: dict[str, Any], idf: dict[str, Floats]) -> AxisHead:
    calibration = Calibration(tuple(entry["weights"]), entry["threshold"], entry["mass"])
    ids, prior = tuple(entry["ids"]), arrays[f"{axis}.prior"]
    if f"{axis}.alpha" in arrays:
        return AxisHead(ids, prior, {}, arrays[f"{axis}.alpha"].astype(np.float32), calibration)
    weights: dict[str, Floats] = {"vectors": arrays[f"{axis}.vectors"].astype(np.float32)}
    for name in LINEAR_BLOCKS:
        block = np.zeros((SPARSE[name], len(ids)), np.float32)
        block[np.flatnonzero(idf[name])] = arrays[f"{axis}.{name}"] * arrays[f"{axis}.{name}.scale"]
        weights[name] = block
    return AxisHead(ids, prior, weights, None, calibration)
