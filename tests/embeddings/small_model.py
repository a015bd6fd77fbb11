"""A model folder of a few kilobytes: random weights, the shipped tokenizer's vocabulary cut to letters."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

HIDDEN, LAYERS, HEADS, POSITIONS = 16, 2, 4, 32
_WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefgh")]


def write_small_model(folder: Path, pooling: str = "mean_tokens", prefix: str = "") -> Path:
    """Write a BERT of 2 layers into `folder`."""
    (folder / "1_Pooling").mkdir(parents=True)
    settings = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "max_position_embeddings": POSITIONS,
    }
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({f"pooling_mode_{pooling}": True}))
    _tokenizer().save(str(folder / "tokenizer.json"))
    save_file({prefix + name: value for name, value in _weights().items()}, folder / "model.safetensors")
    return folder


def _tokenizer() -> Tokenizer:
    vocabulary = {word: number for number, word in enumerate(_WORDS)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def _weights() -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    shapes = {
        "embeddings.word_embeddings.weight": (len(_WORDS), HIDDEN),
        "embeddings.position_embeddings.weight": (POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        **_norm("embeddings"),
    }
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            shapes |= _dense(f"{at}.attention.self.{part}", HIDDEN, HIDDEN)
        shapes |= _dense(f"{at}.attention.output.dense", HIDDEN, HIDDEN) | _norm(f"{at}.attention.output")
        shapes |= _dense(f"{at}.intermediate.dense", HIDDEN, 4 * HIDDEN)
        shapes |= _dense(f"{at}.output.dense", 4 * HIDDEN, HIDDEN) | _norm(f"{at}.output")
    return {name: random.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}


def _norm(name: str) -> dict[str, tuple[int, ...]]:
    return {f"{name}.LayerNorm.weight": (HIDDEN,), f"{name}.LayerNorm.bias": (HIDDEN,)}


def _dense(name: str, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}
