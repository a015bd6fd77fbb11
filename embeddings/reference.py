"""The reference back end: sentence-transformers, for parity tests, training and models that are no BERT."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from embeddings.encoder import MAX_TOKENS, Backend, Floats
from embeddings.errors import ModelError
from embeddings.model_files import Adapter, ModelFiles
from embeddings.tokens import well_formed


class SentenceTransformerEncoder:
    """Any sentence-transformers model in a folder, on the CPU; importing it takes 6-10 s and 450 MB."""

    backend: Backend = "sentence-transformers"

    def __init__(self, model_dir: Path | None, max_tokens: int = MAX_TOKENS) -> None:
        """Open the model in `model_dir` (None = the shipped one).

        Raises ModelError when the extra `reference` is not installed or the model cannot be opened.
        """
        files = ModelFiles.open(model_dir)
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise ModelError(
                "The sentence-transformers back end is not installed.",
                "Install it with: pip install 'distriage[reference]'",
            ) from error
        try:
            self._model = SentenceTransformer(str(files.folder), device="cpu", local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            raise ModelError(
                f"sentence-transformers can't open {files.folder}: {error}.",
                "Use a folder that sentence-transformers saved.",
            ) from error
        self._model.max_seq_length = min(max_tokens, self._model.max_seq_length or max_tokens)
        if files.adapter is not None:
            _adapt(self._model, files.adapter)
        self.model_hash = files.model_hash
        self.dims = int(self._model.get_embedding_dimension())

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return float32 (len(texts), dims), each row of unit length."""
        if not texts:
            return np.empty((0, self.dims), dtype=np.float32)
        vectors = self._model.encode(
            [well_formed(text) for text in texts], normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)


def _adapt(model: Any, adapter: Adapter) -> None:
    import torch

    parameters = dict(model.named_parameters())
    for name in adapter.parts:
        (found,) = (tensor for key, tensor in parameters.items() if key.endswith(f".{name}.weight"))
        found.data += torch.from_numpy(adapter.difference(name))
