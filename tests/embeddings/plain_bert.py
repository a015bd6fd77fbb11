"""BERT written out in numpy, slowly and plainly: what the graph must compute."""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def sentence_vector(
    weights: Mapping[str, npt.NDArray[np.float32]], ids: list[int], layers: int, heads: int
) -> Floats:
    """Embed one sequence of token ids: mean over the tokens, unit length."""
    get = {name: value.astype(np.float64) for name, value in weights.items()}

    def dense(name: str, x: Floats) -> Floats:
        return x @ get[f"{name}.weight"].T + get[f"{name}.bias"]

    def norm(name: str, x: Floats) -> Floats:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        shifted: Floats = scaled * get[f"{name}.LayerNorm.weight"] + get[f"{name}.LayerNorm.bias"]
        return shifted

    at = "embeddings"
    x = get[f"{at}.word_embeddings.weight"][ids] + get[f"{at}.position_embeddings.weight"][: len(ids)]
    x = norm(at, x + get[f"{at}.token_type_embeddings.weight"][0])
    for layer in range(layers):
        at = f"encoder.layer.{layer}"
        query, key, value = (
            dense(f"{at}.attention.self.{part}", x).reshape(len(ids), heads, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = np.exp(query @ key.swapaxes(1, 2) / math.sqrt(query.shape[-1]))
        mixed = (scores / scores.sum(-1, keepdims=True) @ value).swapaxes(0, 1).reshape(x.shape)
        x = norm(f"{at}.attention.output", dense(f"{at}.attention.output.dense", mixed) + x)
        wide = dense(f"{at}.intermediate.dense", x)
        gelu = wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2))) / 2
        x = norm(f"{at}.output", dense(f"{at}.output.dense", gelu) + x)
    mean = x.mean(0)
    unit: Floats = mean / np.linalg.norm(mean)
    return unit
