"""The encoder as it is tuned: before the first step it says what the published one says, and it learns."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.progress import Progress

from embeddings.encoder import OnnxEncoder
from embeddings.model_files import shipped_model_dir
from embeddings.tokens import WordPieces
from knowledge.training.tune import BATCH, FROZEN, Example, TunedEncoder, _batches, _fit, _pairs

HANG = "All ranks stand still in all_reduce after the first epoch and no error is printed."
BUILD = "pip cannot build the extension: nvcc is not found and cmake stops with an error."
TEXTS = [HANG, BUILD]


@pytest.fixture
def model() -> TunedEncoder:
    torch.manual_seed(0)
    return TunedEncoder(shipped_model_dir(), {"stage": 4})


def below(model: TunedEncoder) -> list[torch.Tensor]:
    return model.below(WordPieces(shipped_model_dir() / "tokenizer.json", 64)(TEXTS))


def test_before_the_first_step_the_vectors_are_the_published_ones(
    model: TunedEncoder, tmp_path: Path
) -> None:
    model.eval()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        vectors = model.vectors(below(model)).numpy()
    published = OnnxEncoder(None, tmp_path, adapted=False).encode(TEXTS)
    assert ((vectors * published).sum(axis=1) > 0.999).all()


def test_only_the_upper_layers_differences_and_the_heads_learn(model: TunedEncoder) -> None:
    learning = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    low = [name for name in learning if name.endswith((".up", ".down"))]
    assert sorted(set(learning) - set(low)) == [
        "heads.head_stage.bias",
        "heads.head_stage.weight",
        "sharpness",
    ]
    assert min(int(name.split(".")[3]) for name in low) == FROZEN


def test_a_few_steps_tell_two_faults_apart(model: TunedEncoder) -> None:
    states = below(model)
    wanted = torch.eye(4)
    examples = [Example((n, n), 10, {"stage": wanted[n]}) for n in (0, 1)] * BATCH
    with pytest.MonkeyPatch.context() as patch, Progress(disable=True) as progress:
        patch.setattr("knowledge.training.tune.LOSS", {"stage": 1.0})
        patch.setattr("knowledge.training.tune.WARM_UP", 1)
        _fit(model, examples, states, random.Random(0), progress)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        scores = model(_pairs(model, examples[:2], states))["stage"]
    assert scores.argmax(dim=1).tolist() == [0, 1]
    assert all(float(layer.up.detach().abs().max()) > 0 for layer in model.adapted.values())


def test_every_example_comes_once_in_an_epoch_in_another_order_each_time() -> None:
    examples = [Example((n, n), int(length), {}) for n, length in enumerate(np.arange(100) % 7)]
    order = random.Random(1)
    first, second = _batches(examples, order), _batches(examples, order)
    assert sorted(e.views[0] for batch in first for e in batch) == list(range(100))
    assert [e.views for batch in first for e in batch] != [e.views for batch in second for e in batch]
    assert max(map(len, first)) == BATCH
