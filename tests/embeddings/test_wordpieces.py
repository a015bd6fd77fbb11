import time
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from embeddings.model_files import shipped_model_dir
from embeddings.tokens import WordPieces

FILE = shipped_model_dir() / "tokenizer.json"


@pytest.fixture(scope="module")
def pieces() -> WordPieces:
    return WordPieces(FILE, 256)


def whole(text: str) -> list[int]:
    """The ids of the whole text, cut afterwards: what reading only its head must equal."""
    tokenizer = Tokenizer.from_file(str(FILE))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    ids: list[int] = tokenizer.encode(text).ids
    return ids


@pytest.mark.parametrize(
    "text",
    [
        "",
        "short",
        "word " * 1000,
        "        " * 1000 + "tail " * 300,
        "y" * 99 + " " + "z" * 101 + " " + "q" * 20_000,
        ("k" * 90 + "\n") * 500,
        "中文" * 3000,
        "é́" * 4000,
        "=" * 10_000,
        "a" * 1800 + " b" * 100 + " " + "c" * 100 + " d" * 500,
    ],
)
def test_the_head_of_a_text_gives_the_ids_of_the_whole(pieces: WordPieces, text: str) -> None:
    assert pieces([text])[0] == whole(text)


@pytest.mark.parametrize("length", range(1790, 2060, 9))
def test_a_word_at_the_cut_does_not_change_the_ids(pieces: WordPieces, length: int) -> None:
    text = " " * length + "ncclsystemerror" * 7 + " tail" * 400
    assert pieces([text])[0] == whole(text)


def test_a_long_log_costs_no_more_than_its_head(pieces: WordPieces) -> None:
    text = "step 100 loss 0.1 " * 1_000_000
    start = time.perf_counter()
    pieces([text])
    assert time.perf_counter() - start < 0.5


def test_a_file_that_is_no_tokenizer_is_told(tmp_path: Path) -> None:
    from embeddings.errors import ModelError

    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        WordPieces(tmp_path / "tokenizer.json", 256)
