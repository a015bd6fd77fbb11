import io

import numpy as np
import pytest

from embeddings.lexical import LexicalIndex

CASES = {
    "nccl": "unhandled ncclSystemError in all_reduce, the network is unreachable",
    "oom": "CUDA out of memory while allocating the optimizer state",
    "hang": "training hangs in all_reduce after the first epoch",
    "build": "undefined symbol when importing the compiled operator",
}


@pytest.fixture(scope="module")
def index() -> LexicalIndex:
    return LexicalIndex.build(list(CASES), list(CASES.values()))


def test_the_case_that_names_the_same_error_comes_first(index: LexicalIndex) -> None:
    assert index.search("RuntimeError: NCCL failed: ncclSystemError", 2)[0][0] == "nccl"


def test_a_rare_word_outweighs_a_common_one(index: LexicalIndex) -> None:
    assert [key for key, _ in index.search("hangs all_reduce", 4)] == ["hang", "nccl"]


def test_cases_without_a_common_word_are_left_out(index: LexicalIndex) -> None:
    assert index.search("segfault", 4) == []
    assert index.search("", 4) == []


def test_repeating_a_line_does_not_drown_the_rest(index: LexicalIndex) -> None:
    hits = index.search("the " * 500 + "undefined symbol", 4)
    assert hits[0][0] == "build"


def test_scores_are_those_of_the_formula() -> None:
    index = LexicalIndex.build(["x", "y"], ["hang hang", "loss"])
    rarity = np.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    discount = 1 - 0.75 + 0.75 * 2 / 1.5
    ((key, score),) = index.search("hang", 2)
    assert key == "x"
    assert score == pytest.approx(rarity * 2 * 2.2 / (2 + 1.2 * discount))


def test_a_key_with_several_texts_stands_once() -> None:
    index = LexicalIndex.build(["a", "a", "b"], ["hang", "hang hang", "hang loss"])
    assert [key for key, _ in index.search("hang", 5)] == ["a", "b"]


def test_equal_scores_keep_the_order_of_the_documents() -> None:
    index = LexicalIndex.build(list("cab"), ["same"] * 3)
    assert [key for key, _ in index.search("same", 3)] == list("cab")


def test_k_bounds_the_list(index: LexicalIndex) -> None:
    assert len(index.search("the all_reduce", 1)) == 1


def test_it_survives_plain_arrays(index: LexicalIndex) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **index.to_arrays())  # type: ignore[arg-type]
    buffer.seek(0)
    with np.load(buffer, allow_pickle=False) as arrays:
        again = LexicalIndex.from_arrays(dict(arrays))
    assert again.search("all_reduce hangs", 4) == index.search("all_reduce hangs", 4)
    assert len(again) == len(index) == 4


@pytest.mark.parametrize("texts", [[], [""], ["", "0x1"]])
def test_an_index_without_words_finds_nothing(texts: list[str]) -> None:
    assert LexicalIndex.build([str(n) for n in range(len(texts))], texts).search("hang", 3) == []
