"""Tiny models with random weights, made in a moment: their words are nonsense, what serves them is real.

One direction of the embedding is held constant and leans the last layer towards the marks that end strings,
lists and objects, or a random model would never come to the end of its JSON.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

DIM, HIDDEN, HEADS, LAYERS, CONTEXT = 32, 32, 2, 1, 32_768
WORDS = 2000
LEAN = {'"': 9.0, "]": 6.0, "}": 6.0, ",": 3.0}
SPECIAL = ("<s>", "</s>", "<unk>")
ROOT = Path(__file__).parents[2]
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)

Floats = npt.NDArray[np.float32]


@cache
def trained() -> dict[str, Any]:
    """A byte-level tokenizer learnt from our own texts: {"vocab": word to id, "merges": [[left, right], ...]}."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=WORDS,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [ROOT / "knowledge" / "taxonomy" / "entries.toml", ROOT / "llm" / "texts.toml"]
    tokenizer.train([str(path) for path in texts], trainer)
    model: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
    return model


def vocabulary() -> list[str]:
    """Words by id."""
    vocab: dict[str, int] = trained()["vocab"]
    return sorted(vocab, key=lambda word: vocab[word])


def weights(seed: int = 7) -> dict[str, Floats]:
    """Tensors by their names in the Hugging Face layout, float32."""
    random = np.random.default_rng(seed)
    size = len(vocabulary())

    def drawn(*shape: int, scale: float = 0.3) -> Floats:
        return random.normal(scale=scale, size=shape).astype(np.float32)

    embedding, head = drawn(size, DIM), drawn(size, DIM, scale=0.1)
    embedding[:, 0] = 8.0  # the constant direction, which the norm leaves alone
    head[:, 0] = -1.0
    for mark, lean in LEAN.items():
        head[trained()["vocab"][mark], 0] = lean / 6
    tensors = {"model.embed_tokens.weight": embedding, "lm_head.weight": head}
    tensors["model.norm.weight"] = np.ones(DIM, np.float32)
    for n in range(LAYERS):
        at = f"model.layers.{n}."
        for name in ("q", "k", "v", "o"):
            tensors[f"{at}self_attn.{name}_proj.weight"] = drawn(DIM, DIM, scale=0.05)
        tensors[f"{at}mlp.gate_proj.weight"] = drawn(HIDDEN, DIM, scale=0.05)
        tensors[f"{at}mlp.up_proj.weight"] = drawn(HIDDEN, DIM, scale=0.05)
        tensors[f"{at}mlp.down_proj.weight"] = drawn(DIM, HIDDEN, scale=0.05)
        tensors[f"{at}input_layernorm.weight"] = np.ones(DIM, np.float32)
        tensors[f"{at}post_attention_layernorm.weight"] = np.ones(DIM, np.float32)
    return tensors


def write_gguf(path: Path) -> Path:
    """The model as llama.cpp reads it (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md)."""
    from gguf import GGUFWriter, TokenType  # type: ignore[import-not-found]

    writer = GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(DIM)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(DIM // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(vocabulary())
    control, normal = int(TokenType.CONTROL), int(TokenType.NORMAL)
    writer.add_token_types([control] * len(SPECIAL) + [normal] * (len(vocabulary()) - len(SPECIAL)))
    writer.add_token_merges([" ".join(pair) for pair in trained()["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_chat_template(TEMPLATE)
    for name, tensor in weights().items():
        writer.add_tensor(_gguf_name(name), tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_transformers(folder: Path) -> Path:
    """The model as transformers reads it, with its tokenizer and chat template."""
    from safetensors.numpy import save_file
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    folder.mkdir(parents=True)
    merges = [tuple(pair) for pair in trained()["merges"]]
    tokenizer = Tokenizer(models.BPE(trained()["vocab"], merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in SPECIAL])
    tokenizer.save(str(folder / "tokenizer.json"))
    save_file(weights(), folder / "model.safetensors", metadata={"format": "pt"})
    _write(folder / "config.json", _config())
    _write(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<s>",
            "eos_token": "</s>",
            "unk_token": "<unk>",
            "chat_template": TEMPLATE,
            "model_max_length": CONTEXT,
        },
    )
    _write(folder / "generation_config.json", {"bos_token_id": 0, "eos_token_id": 1, "do_sample": False})
    return folder


def _config() -> dict[str, object]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": DIM,
        "intermediate_size": HIDDEN,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "vocab_size": len(vocabulary()),
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": False,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "dtype": "float32",
    }


def _gguf_name(name: str) -> str:
    short = {
        "model.embed_tokens": "token_embd",
        "lm_head": "output",
        "model.norm": "output_norm",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
        "model.layers.": "blk.",
    }
    for long, brief in short.items():
        name = name.replace(long, brief)
    return name


def _write(path: Path, value: dict[str, object]) -> None:
    path.write_text(json.dumps(value), "utf-8")
