from pathlib import Path

import numpy as np
import pytest

from embeddings.encoder import OnnxEncoder
from embeddings.model_files import ModelFiles
from embeddings.tokens import WordPieces
from tests.embeddings.plain_bert import sentence_vector
from tests.embeddings.small_model import HEADS, LAYERS, write_small_model

TEXTS = ["a b c", "", "abc bad cab", "z " * 40, "hed geb dab fed cab ace"]


def test_the_graph_computes_bert(tmp_path: Path) -> None:
    folder = write_small_model(tmp_path / "model")
    vectors = OnnxEncoder(folder, tmp_path / "cache").encode(TEXTS)
    weights = ModelFiles.open(folder).read_weights()
    for ids, vector in zip(WordPieces(folder / "tokenizer.json", 32)(TEXTS), vectors, strict=True):
        assert vector == pytest.approx(sentence_vector(weights, ids, LAYERS, HEADS), abs=2e-6)


def test_weights_with_a_prefix_give_the_same_vectors(tmp_path: Path) -> None:
    plain = OnnxEncoder(write_small_model(tmp_path / "a"), tmp_path / "cache")
    prefixed = OnnxEncoder(write_small_model(tmp_path / "b", prefix="bert."), tmp_path / "cache")
    assert np.array_equal(plain.encode(TEXTS), prefixed.encode(TEXTS))
    assert plain.model_hash != prefixed.model_hash


def test_cls_pooling_reads_the_first_token_only(tmp_path: Path) -> None:
    mean = OnnxEncoder(write_small_model(tmp_path / "a"), tmp_path / "cache")
    first = OnnxEncoder(write_small_model(tmp_path / "b", pooling="cls_token"), tmp_path / "cache")
    vectors = first.encode(TEXTS)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    assert not np.allclose(vectors, mean.encode(TEXTS), atol=1e-3)


def test_the_models_own_limit_on_positions_is_kept(tmp_path: Path) -> None:
    encoder = OnnxEncoder(write_small_model(tmp_path / "model"), tmp_path / "cache", max_tokens=10_000)
    assert np.array_equal(encoder.encode(["a " * 31]), encoder.encode(["a " * 5000]))
