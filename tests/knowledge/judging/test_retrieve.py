"""The index of the shipped cases: the first run embeds none of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from embeddings.encoder import Backend, Floats
from knowledge.cases import load_cases
from knowledge.engine import Knowledge
from knowledge.judging.retrieve import open_store, save_vectors, shipped_vectors


class Idle:
    """Stands for the shipped encoder and notes what it is asked to embed."""

    backend: Backend = "onnx"

    def __init__(self, knowledge: Knowledge) -> None:
        self.dims, self.model_hash = knowledge.encoder.dims, knowledge.encoder.model_hash
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> Floats:
        self.asked += texts
        return np.zeros((len(texts), self.dims), np.float32)


def test_the_first_run_takes_all_vectors_from_the_file_that_ships(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    encoder = Idle(knowledge)
    store = open_store(load_cases(), tmp_path, lambda: knowledge.table, encoder)
    assert encoder.asked == [], "run: python -m knowledge.judging.retrieve"
    assert len(store.cases) == len(load_cases())


def test_vectors_that_were_saved_are_those_of_the_encoder_and_of_no_other(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    file = tmp_path / "vectors.npz"
    save_vectors(load_cases()[:3], knowledge.encoder, file)
    saved = shipped_vectors(knowledge.encoder, file)
    shipped = shipped_vectors(knowledge.encoder)
    assert saved
    for text, vector in saved.items():
        assert np.allclose(vector, shipped[text], atol=2e-3)
    other = Idle(knowledge)
    other.model_hash = "another"
    assert shipped_vectors(other, file) == {}
