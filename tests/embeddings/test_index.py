import numpy as np
import numpy.typing as npt
import pytest

from embeddings.index import VectorIndex


def unit(rows: int, dims: int = 8, seed: int = 0) -> npt.NDArray[np.float32]:
    vectors = np.random.default_rng(seed).normal(size=(rows, dims)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def test_the_nearest_key_comes_first_with_its_cosine() -> None:
    vectors = unit(20)
    index = VectorIndex.build([f"case{n}" for n in range(20)], vectors)
    hits = index.search(vectors[7], 5)
    assert hits[0][0] == "case7"
    assert hits[0][1] == pytest.approx(1.0)
    assert [score for _, score in hits] == sorted((score for _, score in hits), reverse=True)


def test_search_equals_sorting_all_cosines() -> None:
    vectors, query = unit(50), unit(1, seed=9)[0]
    hits = VectorIndex.build([str(n) for n in range(50)], vectors).search(query, 50)
    assert [key for key, _ in hits] == [str(n) for n in np.argsort(-(vectors @ query))]


def test_a_key_with_several_views_stands_once_with_its_best_score() -> None:
    query = unit(1, seed=3)[0]
    vectors = np.stack([query, query, query, *unit(4)])
    hits = VectorIndex.build(["a", "a", "a", "b", "b", "c", "d"], vectors).search(query, 4)
    assert hits[0][0] == "a"
    assert hits[0][1] == pytest.approx(1.0)
    assert sorted(key for key, _ in hits) == ["a", "b", "c", "d"]


def test_equal_scores_keep_the_order_of_the_rows() -> None:
    vectors = np.repeat(unit(1), 6, axis=0)
    assert [key for key, _ in VectorIndex.build(list("fedcba"), vectors).search(vectors[0], 6)] == list(
        "fedcba"
    )


def test_asking_for_more_than_there_is_gives_all() -> None:
    assert len(VectorIndex.build(["a", "b"], unit(2)).search(unit(1)[0], 10)) == 2


def test_an_empty_index_finds_nothing() -> None:
    index = VectorIndex.build([], np.empty((0, 8), dtype=np.float32))
    assert index.search(unit(1)[0], 5) == []
    assert len(index) == 0


@pytest.mark.parametrize("exact_up_to", [100, 3000])
def test_vectors_come_back_as_they_went_in(exact_up_to: int) -> None:
    vectors = unit(2000)
    index = VectorIndex.build([str(n) for n in range(2000)], vectors, exact_up_to)
    assert np.array_equal(index.vectors, vectors)
    assert index.dims == 8


def test_a_large_index_searched_by_cells_finds_nearly_the_same() -> None:
    centres = unit(40, dims=16)
    noise = np.random.default_rng(1).normal(0, 0.05, (10_000, 16)).astype(np.float32)
    vectors = centres[np.arange(10_000) % 40] + noise
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    keys = [str(n) for n in range(10_000)]
    exact, cells = VectorIndex.build(keys, vectors), VectorIndex.build(keys, vectors, exact_up_to=5000)
    found = [
        len({key for key, _ in exact.search(query, 10)} & {key for key, _ in cells.search(query, 10)})
        for query in vectors[:100]
    ]
    assert sum(found) / 1000 > 0.95


def test_keys_that_do_not_fit_the_vectors_are_refused() -> None:
    with pytest.raises(ValueError, match="3 keys"):
        VectorIndex.build(["a", "b", "c"], unit(2))
