"""An encoder that remembers the vectors of texts on disk: an evaluation run again embeds nothing twice."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from embeddings.encoder import Backend, Encoder, Floats
from embeddings.store import text_hash


class CachingEncoder:
    """Wraps an encoder; vectors are kept by text hash in one file for each model. Call `save` when done."""

    def __init__(self, encoder: Encoder, folder: Path) -> None:
        """Read what `folder` holds for this model; a damaged file counts as empty."""
        self._encoder = encoder
        self._file = folder / f"vectors-{encoder.model_hash[:16]}-{encoder.backend}.npz"
        self._known = _read(self._file, encoder.dims)
        self._stored = len(self._known)

    @property
    def dims(self) -> int:
        """Length of a vector."""
        return self._encoder.dims

    @property
    def model_hash(self) -> str:
        """SHA-256 of the weights."""
        return self._encoder.model_hash

    @property
    def backend(self) -> Backend:
        """What runs the model."""
        return self._encoder.backend

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return float32 (len(texts), dims); only texts never seen reach the model."""
        keys = [text_hash(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if new:
            self._known |= dict(zip(new, self._encoder.encode(list(new.values())), strict=True))
        out: Floats = np.empty((len(texts), self.dims), np.float32)
        for row, key in enumerate(keys):
            out[row] = self._known[key]
        return out

    def save(self) -> None:
        """Write the file anew when there is something new to keep."""
        if len(self._known) == self._stored:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        part = self._file.with_suffix(f".{os.getpid()}.part")
        with part.open("wb") as file:
            np.savez(file, keys=np.array(list(self._known)), vectors=np.stack(list(self._known.values())))
        part.replace(self._file)
        self._stored = len(self._known)


def _read(file: Path, dims: int) -> dict[str, Floats]:
    try:
        # Opened here: numpy leaves a file that it cannot read open.
        with file.open("rb") as raw, np.load(raw, allow_pickle=False) as arrays:
            keys, vectors = arrays["keys"].tolist(), arrays["vectors"]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return {}
    if vectors.shape != (len(keys), dims):
        return {}
    return dict(zip(keys, vectors, strict=True))
