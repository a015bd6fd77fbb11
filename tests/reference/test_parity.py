"""ONNX Runtime against sentence-transformers: the same vectors, sooner. Needs the extra `reference`."""

from pathlib import Path

import numpy as np
import pytest

from embeddings.encoder import OnnxEncoder
from embeddings.reference import SentenceTransformerEncoder

_NOUNS = "rank worker NCCL timeout all_reduce checkpoint optimizer CUDA memory hang socket shard epoch"
WORDS = _NOUNS.split()
LENGTHS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 200, 233, 252, 253, 254, 255, 256, 300, 1000, 20_000)


def varied_texts() -> list[str]:
    """50 texts of our own: of every length, of several scripts, whole and broken."""
    random = np.random.default_rng(50)
    prose = [" ".join(random.choice(WORDS, size)) for size in LENGTHS]
    logs = [
        f"[rank{n}]: RuntimeError: step {n * 100} failed with code -{n}\n" * (3 * n + 1) for n in range(10)
    ]
    odd = [
        "",
        " ",
        "\n\n\t",
        "?",
        "\x00\x01\x1b[31mred\x1b[0m",
        "bad \ud800 surrogate",
        "x" * 101,
        "x" * 5000,
        "[CLS] and [SEP] and [MASK] as text",
        " " * 9000 + "at the end",
        "обучение остановилось на втором узле",
        "训练卡住了,没有任何输出",
        "訓練がノード間で停止する" * 50,
        "el entrenamiento se detiene sin aviso — ¿por qué?",
        "naïve café, Ångström, ﬁle, ①",
        "🔥🚀 loss = NaN 😱",
        "تتوقف عملية التدريب",
        "학습이 멈춥니다",
        "{" * 400 + "}" * 400,
    ]
    return prose + logs + odd


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("model-cache")


@pytest.fixture(scope="module")
def reference() -> SentenceTransformerEncoder:
    return SentenceTransformerEncoder(None)


def test_both_back_ends_give_the_same_vectors(cache_dir: Path, reference: SentenceTransformerEncoder) -> None:
    texts = varied_texts()
    assert len(texts) == len(set(texts)) == 50
    onnx = OnnxEncoder(None, cache_dir)
    assert (onnx.model_hash, onnx.dims) == (reference.model_hash, reference.dims)
    cosines = np.sum(onnx.encode(texts) * reference.encode(texts), axis=1)
    assert cosines.min() >= 0.99999
