import json
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from embeddings.encoder import OnnxEncoder
from embeddings.errors import ModelError
from embeddings.model_files import SHIPPED_SHA256, ModelFiles, shipped_model_dir
from tests.embeddings.small_model import write_small_model


def test_the_shipped_model_is_the_pinned_one() -> None:
    files = ModelFiles.open()
    assert files.folder == shipped_model_dir()
    assert files.weights_hash == SHIPPED_SHA256
    assert (files.shape.hidden, files.shape.layers, files.shape.heads) == (384, 6, 12)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    folder = write_small_model(tmp_path / "model")
    (folder / name).unlink()
    with pytest.raises(ModelError, match=name) as told:
        ModelFiles.open(folder)
    assert told.value.remedy


@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer.json", "model.safetensors", "1_Pooling/config.json"]
)
def test_a_damaged_file_is_told_with_a_remedy(tmp_path: Path, name: str) -> None:
    folder = write_small_model(tmp_path / "model")
    (folder / name).write_bytes(b"\x00\xff damaged")
    with pytest.raises(ModelError) as told:
        OnnxEncoder(folder, tmp_path / "cache")
    assert told.value.remedy


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("model_type", "roberta"),
        ("hidden_act", "gelu_new"),
        ("position_embedding_type", "relative_key"),
        ("hidden_size", None),
    ],
)
def test_a_network_that_is_no_plain_bert_is_refused(tmp_path: Path, setting: str, value: object) -> None:
    folder = write_small_model(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, setting: value}))
    with pytest.raises(ModelError, match="without torch") as told:
        OnnxEncoder(folder, tmp_path / "cache")
    assert "sentence-transformers" in told.value.remedy


def test_a_pooling_that_is_not_known_is_refused(tmp_path: Path) -> None:
    folder = write_small_model(tmp_path / "model", pooling="max_tokens")
    with pytest.raises(ModelError, match="pools by pooling_mode_max_tokens"):
        OnnxEncoder(folder, tmp_path / "cache")


def test_a_dense_layer_after_pooling_is_refused(tmp_path: Path) -> None:
    folder = write_small_model(tmp_path / "model")
    (folder / "2_Dense").mkdir()
    with pytest.raises(ModelError, match="dense layer"):
        OnnxEncoder(folder, tmp_path / "cache")


def test_a_json_that_is_no_object_is_refused(tmp_path: Path) -> None:
    folder = write_small_model(tmp_path / "model")
    (folder / "config.json").write_text("[]")
    with pytest.raises(ModelError, match="isn't a JSON object"):
        OnnxEncoder(folder, tmp_path / "cache")


def test_weights_that_lack_a_layer_are_refused(tmp_path: Path) -> None:
    folder = write_small_model(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    with pytest.raises(ModelError, match=r"layer\.2"):
        OnnxEncoder(folder, tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("*onnx*"))


def test_half_precision_weights_are_read_as_float32(tmp_path: Path) -> None:
    folder = write_small_model(tmp_path / "model")
    full = OnnxEncoder(folder, tmp_path / "cache").encode(["abc"])
    halved = {
        name: value.astype(np.float16) for name, value in load_file(folder / "model.safetensors").items()
    }
    save_file(halved, folder / "model.safetensors")
    half = OnnxEncoder(folder, tmp_path / "cache").encode(["abc"])
    assert half.dtype == np.float32
    assert float(full[0] @ half[0]) > 0.999


def test_the_fingerprint_follows_the_pooling(tmp_path: Path) -> None:
    mean = ModelFiles.open(write_small_model(tmp_path / "a"))
    first = ModelFiles.open(write_small_model(tmp_path / "b", pooling="cls_token"))
    assert mean.weights_hash == first.weights_hash
    assert mean.fingerprint != first.fingerprint


def test_the_hash_of_the_weights_is_kept_until_they_change(tmp_path: Path) -> None:
    folder, kept = write_small_model(tmp_path / "model"), tmp_path / "cache" / "weights.json"
    first = ModelFiles.open(folder, hashes=kept).weights_hash
    assert first == ModelFiles.open(folder).weights_hash
    kept.write_text(kept.read_text("utf-8").replace(first, "kept"), "utf-8")
    assert ModelFiles.open(folder, hashes=kept).weights_hash == "kept"
    os.utime(folder / "model.safetensors", (1, 1))
    assert ModelFiles.open(folder, hashes=kept).weights_hash == first


@pytest.mark.parametrize("damaged", ["", "[]", "5", '["a", 1'])
def test_a_damaged_note_of_the_hash_is_replaced(tmp_path: Path, damaged: str) -> None:
    folder, kept = write_small_model(tmp_path / "model"), tmp_path / "weights.json"
    kept.write_text(damaged, "utf-8")
    assert ModelFiles.open(folder, hashes=kept).weights_hash == ModelFiles.open(folder).weights_hash
    assert str(folder) in kept.read_text("utf-8")
