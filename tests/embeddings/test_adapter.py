"""What training added to the encoder: read, added to the weights, and told apart from the plain model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embeddings.encoder import OnnxEncoder
from embeddings.errors import ModelError
from embeddings.model_files import Adapter, ModelFiles
from tests.embeddings.small_model import HIDDEN, write_small_model

LAYER = "encoder.layer.1.attention.self.query"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    random = np.random.default_rng(1)
    arrays = {
        f"{LAYER}.up": random.normal(size=(HIDDEN, 2)),
        f"{LAYER}.down": random.normal(size=(2, HIDDEN)),
    }
    np.savez(tmp_path / "adapter.npz", **{name: array.astype(np.float16) for name, array in arrays.items()})
    return tmp_path / "adapter.npz"


def test_the_difference_is_added_to_its_layer_alone(tmp_path: Path, file: Path) -> None:
    plain = ModelFiles(write_small_model(tmp_path / "model"))
    adapted = ModelFiles(plain.folder, Adapter(file))
    before, after = plain.read_weights(), adapted.read_weights()
    changed = [name for name in before if not np.array_equal(before[name], after[name])]
    assert changed == [f"{LAYER}.weight"]
    np.testing.assert_allclose(
        after[changed[0]], before[changed[0]] + Adapter(file).difference(LAYER), atol=1e-6
    )


def test_an_adapted_model_has_a_hash_and_a_graph_of_its_own(tmp_path: Path, file: Path) -> None:
    plain = ModelFiles(write_small_model(tmp_path / "model"))
    adapted = ModelFiles(plain.folder, Adapter(file))
    assert plain.model_hash == plain.weights_hash == adapted.weights_hash
    assert adapted.model_hash != plain.model_hash
    assert adapted.fingerprint != plain.fingerprint


def test_an_adapter_of_another_model_is_refused(tmp_path: Path, file: Path) -> None:
    weights = ModelFiles(write_small_model(tmp_path / "model")).read_weights()
    del weights[f"{LAYER}.weight"]
    with pytest.raises(ModelError, match=r"no layer encoder\.layer\.1"):
        Adapter(file).added_to(weights)


def test_a_damaged_adapter_is_told_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "adapter.npz").write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(ModelError) as told:
        _ = Adapter(tmp_path / "adapter.npz").parts
    assert "make tune" in told.value.remedy


def test_the_shipped_encoder_tells_faults_apart_that_the_plain_one_confuses(tmp_path: Path) -> None:
    texts = [
        "The job stands still before the process group is up; init_process_group never returns.",
        "torchrun waits for the second node and nothing happens at rendezvous.",
        "After some hours of training all ranks stand still inside all_reduce.",
    ]
    plain = OnnxEncoder(None, tmp_path, adapted=False)
    shipped = OnnxEncoder(None, tmp_path)
    assert plain.model_hash != shipped.model_hash

    def lead(encoder: OnnxEncoder) -> float:
        """By how much the two faults of starting are nearer to each other than to the one of training."""
        start, launch, training = encoder.encode(texts)
        return float(start @ launch - max(start @ training, launch @ training))

    assert lead(shipped) > lead(plain)
