"""The converted model in its cache folder: written once, by whichever process comes first."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from embeddings.errors import ModelError
from embeddings.model_files import ModelFiles

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
                f"The embedding model cannot be converted into {cache_dir} ({error.strerror or error}).",
                "It needs 100 MB in a writable folder.",
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
