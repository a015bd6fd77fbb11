"""Text to vectors: what an encoder is, and the one that runs everywhere (ONNX Runtime, no torch)."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
import numpy.typing as npt

from embeddings.errors import ModelError, reason
from embeddings.model_files import ModelFiles
from embeddings.tokens import WordPieces

if TYPE_CHECKING:
    import onnxruntime


# The converted model in its cache folder: written once, by whichever process comes first.

CONVERTER_VERSION = 1
"""Raised with every change of the graph, so that a graph of an older converter is never used."""

_GRAPH = "model.onnx"
_DATA = "weights.bin"


def converted(model: ModelFiles, cache_dir: Path) -> Path:
    """Return the path of the ONNX graph of `model`; convert it into `cache_dir` first when it is new.

    The folder is named by weights, shape and converter version. Two processes may convert at once: each
    writes a folder of its own and renames it into place; the later one takes what the earlier one wrote.
    Raises ModelError when the cache cannot be written or the model is none that the converter knows.
    """
    folder = cache_dir / f"onnx-{model.fingerprint[:24]}-v{CONVERTER_VERSION}"
    if not (folder / _GRAPH).is_file():
        try:
            cache_dir.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".converting-", dir=cache_dir) as work:
                _write(model, Path(work) / "model")
                _move_into_place(Path(work) / "model", folder)
        except OSError as error:
            raise ModelError(
                f"Can't convert the embedding model into {cache_dir}: {reason(error)}.",
                "The conversion needs a writable folder with 100 MB of free space.",
            ) from error
    return folder / _GRAPH


def discard(graph: Path) -> None:
    """Remove a damaged conversion, so that the next call of `converted` writes it anew."""
    shutil.rmtree(graph.parent, ignore_errors=True)


def _write(model: ModelFiles, folder: Path) -> None:
    from embeddings.onnx_graph import write_graph  # 70 ms to import, needed once per machine

    folder.mkdir()
    write_graph(model.shape, model.read_weights(), folder / _GRAPH, folder / _DATA)


def _move_into_place(work: Path, folder: Path) -> None:
    try:
        work.rename(folder)
    except OSError:
        # rename refuses a folder that is not empty: another process was first, with the same bytes.
        if not (folder / _GRAPH).is_file():
            raise


Floats = npt.NDArray[np.float32]
Backend = Literal["onnx", "sentence-transformers"]

MAX_TOKENS = 256
"""What all-MiniLM-L6-v2 was published with (sentence_bert_config.json); later tokens are not read."""
_BATCH_TOKENS = 2048
"""Tokens in one run, padding included: larger batches are no faster on a CPU and cost memory."""

_LIKE = 1.1
"""How much longer than the shortest the texts of a run may be: padding is computed like words."""


class Encoder(Protocol):
    """Turns texts into vectors of unit length, so that a dot product is the cosine."""

    @property
    def dims(self) -> int:
        """Length of a vector."""
        ...

    @property
    def model_hash(self) -> str:
        """SHA-256 that stands for the weights, in hexadecimal."""
        ...

    @property
    def backend(self) -> Backend:
        """What runs the model."""
        ...

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return float32 (len(texts), dims); the vector of a text does not depend on its companions."""
        ...


class OnnxEncoder:
    """A BERT sentence encoder on ONNX Runtime, fp32 on the CPU; several threads may share one."""

    backend: Backend = "onnx"

    def __init__(
        self,
        model_dir: Path | None,
        cache_dir: Path,
        threads: int | None = None,
        max_tokens: int = MAX_TOKENS,
        *,
        adapted: bool = True,
    ) -> None:
        """Open the model in `model_dir` (None = the shipped one); convert it into `cache_dir` when new.

        `adapted`: with what training added to the shipped model (embeddings/model_files.py).
        `threads` defaults to the CPUs this process may use, four at most.
        Raises ModelError when the model is missing, damaged or of an unsupported kind.
        """
        files = ModelFiles.open(model_dir, adapted=adapted, hashes=cache_dir / "weights.json")
        self.model_hash = files.model_hash
        self.dims = files.shape.hidden
        self._pieces = WordPieces(files.folder / "tokenizer.json", min(max_tokens, files.shape.positions))
        self._session = _open_session(files, cache_dir, threads or _usable_cpus())

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return float32 (len(texts), dims), each row of unit length; an empty text has a vector, too."""
        vectors = np.empty((len(texts), self.dims), dtype=np.float32)
        rows = self._pieces(texts)
        for batch in _batches([len(row) for row in rows]):
            ids = np.zeros((len(batch), len(rows[batch[-1]])), dtype=np.int32)
            mask = np.zeros_like(ids)
            for at, number in enumerate(batch):
                ids[at, : len(rows[number])] = rows[number]
                mask[at, : len(rows[number])] = 1
            vectors[batch] = self._session.run(["vector"], {"input_ids": ids, "mask": mask})[0]
        return vectors


def _usable_cpus() -> int:
    # Only Linux knows which CPUs a process may use.
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(4, usable)


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the numbers of the texts in batches of like length, the longest of a batch last."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        padded = batch and lengths[number] > _LIKE * lengths[batch[0]]
        if batch and (padded or (len(batch) + 1) * lengths[number] > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _open_session(files: ModelFiles, cache_dir: Path, threads: int) -> onnxruntime.InferenceSession:
    from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

    graph = converted(files, cache_dir)
    damaged = (ort_errors.Fail, ort_errors.InvalidProtobuf, ort_errors.InvalidGraph, ort_errors.NoSuchFile)
    try:
        return _session(graph, threads)
    except damaged:
        discard(graph)  # a copy of ours that a full disk or a cleaner cut short: written again, once
    try:
        return _session(converted(files, cache_dir), threads)
    except (
        *damaged,
        ort_errors.InvalidArgument,
        ort_errors.RuntimeException,
        ort_errors.NotImplemented,
    ) as error:
        raise ModelError(
            f"ONNX Runtime can't load the model in {files.folder}: {error}.",
            "Use a BERT sentence encoder, or reinstall onnxruntime.",
        ) from error


def _session(graph: Path, threads: int) -> onnxruntime.InferenceSession:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # The graph is written as fused as it gets (embeddings/onnx_graph.py): looking for more takes 25 ms at each start.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    # Waiting threads that spin gain nothing measurable here and take the CPU from the rest of the service.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4
    return ort.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
