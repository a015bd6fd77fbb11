"""The judge: features in, a calibrated distribution per axis out; and the judge on disk."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from embeddings.encoder import Encoder
from knowledge.errors import ModelError
from knowledge.judging.axes import COUPLED, Judged, axis_ids, labels_of
from knowledge.judging.blocks import (
    COMPARED,
    LINEAR_BLOCKS,
    SPARSE,
    Columns,
    Exemplars,
    Weighting,
    write_arrays,
)
from knowledge.judging.calibrate import Calibration, answer_set_size, combine
from knowledge.judging.features import Features, Floats
from knowledge.judging.tuned import TunedHeads, load_heads
from knowledge.taxonomy import Taxonomy, load_taxonomy
from knowledge.triage import CaseLabels

Array = npt.NDArray[np.float64]
VOTED: tuple[Judged, ...] = ("symptom", "cause", "fix")
"""Axes on which the nearest cases vote."""
ENOUGH = 20
"""Words and pairs of words from which on an account is judged by itself; an ordinary title alone has as many."""
UNTOLD = 0.5
"""Share that study 1's fixes per symptom get where nothing but the symptom is told. Judged by the first three to seven
words of their titles, the benchmark's causes and fixes are likeliest at a quarter to a half."""


@dataclass(frozen=True, slots=True)
class AxisHead:
    """One axis: its ids, what its score is a sum of, and its calibration.

    Some have linear `weights` of each block (features, ids); the others have `alpha`, the weight of their
    likeness to each exemplar (exemplars, ids).
    """

    ids: tuple[str, ...]
    prior: Floats
    weights: Mapping[str, Floats]
    alpha: Floats | None
    calibration: Calibration


@dataclass(frozen=True, slots=True)
class Judgement:
    """Probabilities of one axis and what is claimed of them."""

    ids: tuple[str, ...]
    p: Array
    threshold: float
    mass: float

    @property
    def ranking(self) -> list[tuple[str, float]]:
        """Ids with their probability, most probable first."""
        return [(self.ids[i], float(self.p[i])) for i in np.argsort(-self.p, kind="stable")]

    @property
    def answer(self) -> list[str]:
        """The id claimed, or nothing when the best one is too unsure."""
        id, p = self.ranking[0]
        return [id] if p >= self.threshold else []

    @property
    def answer_set(self) -> list[str]:
        """The smallest set of ids that should hold a right one with the target probability."""
        size = int(answer_set_size(self.p[None, :], self.mass)[0])
        return [id for id, _ in self.ranking[: max(1, size)]]


@dataclass(frozen=True, slots=True)
class Judge:
    """All heads: with the weighting and the exemplars that they need, and those tuned with the encoder."""

    weighting: Weighting
    exemplars: Exemplars
    heads: Mapping[Judged, AxisHead]
    tuned: TunedHeads
    taxonomy: Taxonomy

    def judge(self, features: Features, votes: Mapping[Judged, Array]) -> dict[Judged, Judgement]:
        """Judge every axis; `votes` are those of the nearest cases (`neighbour_votes`)."""
        likeness = self.exemplars.likeness(features, self.weighting)
        raw = {axis: self._scores(features, likeness, head) for axis, head in self.heads.items()}
        out: dict[Judged, Judgement] = {}
        symptom: Array | None = None
        for axis in COUPLED:
            head = self.heads[axis]
            vote = votes.get(axis, np.zeros(len(head.ids)))[None, :]
            inputs = sources(axis, raw[axis], vote, raw["stage"], symptom, self.taxonomy)
            inputs += self.tuned.scores(axis, features.vectors[None, :])
            p = combine(inputs, head.calibration.weights)
            if axis == "symptom":
                symptom = p
            elif axis in ("fix", "cause") and symptom is not None:
                p = _by_symptom_if_short(axis, p, symptom, len(features.words.index))
            out[axis] = Judgement(head.ids, p[0], head.calibration.threshold, head.calibration.mass)
        return out

    def _scores(self, features: Features, likeness: Array, head: AxisHead) -> Array:
        total = head.prior.astype(np.float64)
        if head.alpha is not None:
            return np.asarray(total + likeness @ head.alpha)[None, :]
        for name, block in head.weights.items():
            if name == "vectors":
                total = total + features.vectors @ block
            else:
                unit = self.weighting.unit(features, name)
                total = total + unit.weight @ block[unit.index]
        return np.asarray(total)[None, :]


def sources(
    axis: Judged,
    scores: Array,
    votes: Array,
    stage_scores: Array,
    symptom_p: Array | None,
    taxonomy: Taxonomy,
) -> list[Array]:
    """The score sources that an axis combines, each (n, ids): its own head, then what other axes and cases say."""
    if axis == "symptom":
        stages = taxonomy.ids("stage")
        column = [stages.index(taxonomy.stage_of(id)) for id in axis_ids(taxonomy, "symptom")]
        return [scores, stage_scores[:, column], votes]
    if axis == "stage":
        assert symptom_p is not None
        return [scores, np.log(_stage_mass(symptom_p, taxonomy) + 1e-4)]
    if axis in ("fix", "cause"):
        assert symptom_p is not None
        return [scores, np.log(_expected(axis, symptom_p) + 1e-3), votes]
    return [scores]


def _by_symptom_if_short(axis: Judged, p: Array, symptom_p: Array, words: int) -> Array:
    """Of a report of hardly any words ("It hangs at start.") the symptom is all that is told: the fewer there are, the
    more count study 1's fixes per symptom, and the less what is most frequent among labelled reports."""
    share = UNTOLD * max(0.0, 1 - words / ENOUGH)
    return p if share == 0 else (1 - share) * p + share * _expected(axis, symptom_p)


def _stage_mass(symptom_p: Array, taxonomy: Taxonomy) -> Array:
    stages = taxonomy.ids("stage")
    out = np.zeros((len(symptom_p), len(stages)))
    for column, id in enumerate(axis_ids(taxonomy, "symptom")):
        out[:, stages.index(taxonomy.stage_of(id))] += symptom_p[:, column]
    return out


def _expected(axis: Judged, symptom_p: Array) -> Array:
    """What study 1's table of fixes per symptom leads to expect, over the symptoms as judged."""
    return np.asarray(symptom_p @ _fix_table(axis))


@cache
def _fix_table(axis: Judged) -> Array:
    """Probability of each fix, or of the cause it tells of, given each symptom: (symptoms, ids)."""
    taxonomy = load_taxonomy()
    ids = taxonomy.ids(axis)
    symptoms = axis_ids(taxonomy, "symptom")
    table = np.zeros((len(symptoms), len(ids)))
    for row, symptom in enumerate(symptoms):
        for fix, p in taxonomy.fix_prior(symptom).items():
            table[row, ids.index(fix if axis == "fix" else taxonomy.cause_of_fix(fix))] += p
    return table


def neighbour_votes(
    hits: Sequence[tuple[CaseLabels, float]], taxonomy: Taxonomy, k: int = 12
) -> dict[Judged, Array]:
    """Share of the fused score that the `k` nearest cases give each id; zeros where no case has a label."""
    out: dict[Judged, Array] = {}
    for axis in VOTED:
        ids = axis_ids(taxonomy, axis)
        votes = np.zeros(len(ids))
        for labels, score in hits[:k]:
            right = labels_of(labels, axis)
            for label in right:
                votes[ids.index(label)] += score**2 / len(right)
        total = votes.sum()
        out[axis] = votes / total if total else votes
    return out


# The judge on disk: plain arrays and JSON, never a pickle.
#
# Weights are kept as int8 with one scale a column: a quarter of the size or less, and the rounding moves a
# probability by less than its second decimal. Of the exemplars no text is kept.

FORMAT = 4
SHIPPED = Path(__file__).parent / "judge.npz"
_REMEDY = "Restore the file, or rebuild it with: make train"


def save_judge(judge: Judge, file: Path, about: dict[str, Any]) -> None:
    """Write the judge; `about` says what it was made of. The same judge gives the same bytes."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, idf in judge.weighting.idf.items():
        arrays[f"idf.{name}"] = idf.astype(np.float16)
    arrays |= _exemplar_arrays(judge)
    meta: dict[str, Any] = {"format": FORMAT, "about": about, "axes": {}, "exemplars": judge.exemplars.count}
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
    for name, block in judge.exemplars.blocks.items():
        arrays[f"exemplars.{name}.counts"] = np.diff(block.starts).astype(np.uint16)
        arrays[f"exemplars.{name}.row"] = block.row
        # Rows have unit length, so no weight is above one.
        arrays[f"exemplars.{name}.weight"] = np.rint(block.weight * 255).astype(np.uint8)
    return arrays


def _exemplars(arrays: Any, count: int) -> Exemplars:
    return Exemplars(count, {name: _columns(arrays, name) for name in COMPARED})


def _columns(arrays: Any, name: str) -> Columns:
    counts, row, weight = (arrays[f"exemplars.{name}.{part}"] for part in ("counts", "row", "weight"))
    return Columns.counted(counts, row, weight.astype(np.float32) / 255)


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
                    f"{file} has format {meta.get('format')}, but this version reads format {FORMAT}.",
                    _REMEDY,
                )
            idf = {name: arrays[f"idf.{name}"].astype(np.float32) for name in SPARSE}
            exemplars = _exemplars(arrays, meta["exemplars"])
            heads = {axis: _head(arrays, axis, entry, idf) for axis, entry in meta["axes"].items()}
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise ModelError(
            f"Can't read the judge's weights in {file} ({type(error).__name__}).", _REMEDY
        ) from error
    return Judge(Weighting(idf), exemplars, heads, tuned or load_heads(taxonomy), taxonomy), meta["about"]


def check_encoder(about: Mapping[str, Any], encoder: Encoder) -> None:
    """Raises ModelError unless the judge, of which this is what it was made of, was trained with this encoder."""
    if about["encoder"] != encoder.model_hash:
        raise ModelError(
            "The judge was trained with a different embedding model.",
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
