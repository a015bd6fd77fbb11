"""Vectors to the keys nearest to a query, in memory and on disk.

In memory: by inner product; a key may have several vectors.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from embeddings.encoder import CONVERTER_VERSION, Backend, Encoder, Floats
from embeddings.errors import ModelError, reason

EXACT_UP_TO = 100_000
"""Vectors searched exhaustively (18 ms at this size); more are searched by FAISS in cells (IVF). Below, that saves
is less than what its import costs a command (docs/scale.md)."""
_SHARE_OF_CELLS = 8
"""One cell in so many is searched."""


class VectorIndex:
    """Rows of unit length, each belonging to a key; a case has one row for each view of it.

    Searching is thread-safe. FAISS is imported with the first large index (50 ms, 20 MB), not with this module.
    """

    def __init__(self, keys: Sequence[str], vectors: Floats, cells: Any = None) -> None:
        """Index `vectors`, whose row i belongs to keys[i]; `cells` is a FAISS index over them. `build` makes one."""
        self.keys = tuple(keys)
        self.vectors = vectors
        self._cells = cells
        self._views = max(Counter(self.keys).values(), default=1)

    @classmethod
    def build(cls, keys: Sequence[str], vectors: Floats, exact_up_to: int = EXACT_UP_TO) -> VectorIndex:
        """Index `vectors`, float32 (len(keys), dims), each of unit length; ValueError on other shapes."""
        if vectors.ndim != 2 or len(keys) != len(vectors):
            raise ValueError(f"{len(keys)} keys do not fit vectors of shape {vectors.shape}")
        rows = np.ascontiguousarray(vectors, dtype=np.float32)
        return cls(keys, rows, _in_cells(rows) if len(keys) > exact_up_to else None)

    def __len__(self) -> int:
        """Number of vectors."""
        return len(self.keys)

    @property
    def dims(self) -> int:
        """Length of a vector."""
        return int(self.vectors.shape[1])

    def search(self, query: Floats, k: int) -> list[tuple[str, float]]:
        """Return the `k` nearest keys to `query` (dims,), nearest first, each with the score of its best row.

        The score is the cosine when all vectors have unit length; equal scores keep the order of the rows.
        """
        # The k best keys own the k * views best rows at most.
        rows = min(k * self._views, len(self))
        if rows <= 0:
            return []
        best: dict[str, float] = {}
        for row, score in self._nearest(np.asarray(query, dtype=np.float32), rows):
            best.setdefault(self.keys[row], score)
        return list(best.items())[:k]

    def _nearest(self, query: Floats, count: int) -> list[tuple[int, float]]:
        """That many rows with their scores, the best first."""
        if self._cells is None:
            scores = self.vectors @ query
            order = np.argsort(-scores, kind="stable")[:count].tolist()
            return [(row, float(scores[row])) for row in order]
        found_scores, found = self._cells.search(query.reshape(1, -1), count)
        hits = zip(found[0].tolist(), found_scores[0].tolist(), strict=True)
        return sorted(((row, score) for row, score in hits if row >= 0), key=lambda hit: (-hit[1], hit[0]))


def _in_cells(vectors: Floats) -> Any:
    import faiss

    dims, cells = vectors.shape[1], int(4 * len(vectors) ** 0.5)
    index: Any = faiss.IndexIVFFlat(faiss.IndexFlatIP(dims), dims, cells, faiss.METRIC_INNER_PRODUCT)
    index.nprobe = -(-cells // _SHARE_OF_CELLS)
    index.train(vectors)
    index.add(vectors)
    return index


# A vector index on disk with a manifest that says what made it; re-embedding touches changed texts only.
#
# A folder holds manifest.json and the index file that it names by content hash. The manifest is replaced last and in
# one step, so a reader sees the old index or the new one, whole.

_MANIFEST = "manifest.json"
_REMEDY = "Rebuild it with: bot corpus build"


class Row(BaseModel):
    """One vector: whose it is and of which text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    text_hash: str


class Manifest(BaseModel):
    """What an index was made of and by."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[2] = 2
    model_hash: str
    dims: int
    backend: Backend
    converter_version: int
    count: int
    index_hash: str
    rows: list[Row]

    @property
    def index_file(self) -> str:
        """Name of the index file beside the manifest."""
        return f"index-{self.index_hash[:16]}.npz"


def text_hash(text: str) -> str:
    """SHA-256 of a text, in hexadecimal: a text is embedded again only when this changes."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def load_index(folder: Path, encoder: Encoder) -> VectorIndex:
    """Load the index in `folder`; ModelError when it is missing, damaged or not made by such an encoder."""
    return _load(folder, encoder)[1]


def refresh_index(
    folder: Path,
    keys: Sequence[str],
    texts: Sequence[str],
    encoder: Encoder,
    made: Mapping[str, Floats] | None = None,
) -> VectorIndex:
    """Make the index in `folder` hold texts[i] under keys[i], embedding only texts that it does not hold yet.

    `made`: vectors by `text_hash` that this encoder made before. An index of another model or a damaged one is
    replaced. When nothing changed, no file is touched.
    Raises ModelError when the folder cannot be written.
    """
    rows = [Row(key=key, text_hash=text_hash(text)) for key, text in zip(keys, texts, strict=True)]
    known: dict[str, Floats] = dict(made or {})
    try:
        manifest, index = _load(folder, encoder)
    except ModelError:
        pass  # nothing of it can be used
    else:
        if manifest.rows == rows:
            return index
        known |= dict(zip((row.text_hash for row in manifest.rows), index.vectors, strict=True))
    new = {row.text_hash: text for row, text in zip(rows, texts, strict=True) if row.text_hash not in known}
    known.update(zip(new, encoder.encode(list(new.values())), strict=True))
    vectors = np.empty((len(rows), encoder.dims), dtype=np.float32)
    for at, row in enumerate(rows):
        vectors[at] = known[row.text_hash]
    index = VectorIndex.build(keys, vectors)
    _save(folder, index, rows, encoder)
    return index


def _load(folder: Path, encoder: Encoder) -> tuple[Manifest, VectorIndex]:
    try:
        manifest = Manifest.model_validate_json((folder / _MANIFEST).read_bytes())
        data = (folder / manifest.index_file).read_bytes()
    except FileNotFoundError as error:
        raise ModelError(f"There is no index in {folder}.", _REMEDY) from error
    except (OSError, ValidationError) as error:
        raise ModelError(f"Can't read the index in {folder}.", _REMEDY) from error
    for what, found, wanted in (
        ("model", manifest.model_hash, encoder.model_hash),
        ("vector length", manifest.dims, encoder.dims),
        ("back end", manifest.backend, encoder.backend),
        ("converter version", manifest.converter_version, _converter_version(encoder)),
    ):
        if found != wanted:
            raise ModelError(
                f"The index in {folder} has {what} {found}, but the encoder has {wanted}.", _REMEDY
            )
    if hashlib.sha256(data).hexdigest() != manifest.index_hash or manifest.count != len(manifest.rows):
        raise ModelError(f"The index in {folder} is damaged.", _REMEDY)
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return manifest, VectorIndex.build([row.key for row in manifest.rows], arrays["vectors"])


def _save(folder: Path, index: VectorIndex, rows: list[Row], encoder: Encoder) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, vectors=index.vectors)
    manifest = Manifest(
        model_hash=encoder.model_hash,
        dims=encoder.dims,
        backend=encoder.backend,
        converter_version=_converter_version(encoder),
        count=len(rows),
        index_hash=hashlib.sha256(buffer.getbuffer()).hexdigest(),
        rows=rows,
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder / manifest.index_file, buffer.getvalue())
        _replace(folder / _MANIFEST, manifest.model_dump_json(indent=1).encode() + b"\n")
        for stale in folder.glob("index-*.npz"):
            if stale.name != manifest.index_file:
                stale.unlink(missing_ok=True)
    except OSError as error:
        raise ModelError(
            f"Can't write the index to {folder}: {reason(error)}.",
            "Make the folder writable or choose another.",
        ) from error


def _replace(path: Path, data: bytes) -> None:
    """Write `path` in one step; the process id keeps two writers apart."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_bytes(data)
    part.replace(path)


def _converter_version(encoder: Encoder) -> int:
    return CONVERTER_VERSION if encoder.backend == "onnx" else 0
