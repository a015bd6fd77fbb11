from pathlib import Path

import numpy as np

from eval.session import CachingEncoder
from tests.embeddings.fake_encoder import FakeEncoder


def test_a_text_reaches_the_model_once_over_two_runs(tmp_path: Path) -> None:
    first = FakeEncoder()
    caching = CachingEncoder(first, tmp_path)
    before = caching.encode(["a", "b", "a"])
    caching.save()
    second = FakeEncoder()
    after = CachingEncoder(second, tmp_path).encode(["b", "a", "c"])
    assert first.seen == ["a", "b"] and second.seen == ["c"]
    assert np.array_equal(after[:2], before[[1, 0]])


def test_vectors_of_another_model_are_not_used(tmp_path: Path) -> None:
    caching = CachingEncoder(FakeEncoder("m1"), tmp_path)
    caching.encode(["a"])
    caching.save()
    other = FakeEncoder("m2")
    CachingEncoder(other, tmp_path).encode(["a"])
    assert other.seen == ["a"]


def test_a_damaged_file_counts_as_empty(tmp_path: Path) -> None:
    caching = CachingEncoder(FakeEncoder(), tmp_path)
    caching.encode(["a"])
    caching.save()
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:50])
    again = FakeEncoder()
    CachingEncoder(again, tmp_path).encode(["a"])
    assert again.seen == ["a"]


def test_nothing_new_writes_nothing(tmp_path: Path) -> None:
    CachingEncoder(FakeEncoder(), tmp_path).save()
    assert not list(tmp_path.iterdir())
