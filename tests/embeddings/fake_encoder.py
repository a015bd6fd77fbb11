"""An encoder without a model: a text's hash seeds its vector, and every text it is given is written down."""

import hashlib
from collections.abc import Sequence

import numpy as np

from embeddings.encoder import Backend, Floats


class FakeEncoder:
    def __init__(self, model_hash: str = "m1", dims: int = 8, backend: Backend = "onnx") -> None:
        self.model_hash = model_hash
        self.dims = dims
        self.backend: Backend = backend
        self.seen: list[str] = []

    def encode(self, texts: Sequence[str]) -> Floats:
        self.seen += texts
        vectors = np.empty((len(texts), self.dims), dtype=np.float32)
        for at, text in enumerate(texts):
            seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
            vectors[at] = np.random.default_rng(seed).normal(size=self.dims)
            vectors[at] /= np.linalg.norm(vectors[at])
        return vectors
