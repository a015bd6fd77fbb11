import json
from pathlib import Path

import numpy as np
import pytest

from embeddings.errors import ModelError
from embeddings.index import load_index, refresh_index
from tests.embeddings.fake_encoder import FakeEncoder

KEYS = ["a", "a", "b"]
TEXTS = ["title of a", "decisive line of a", "title of b"]


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def test_a_saved_index_is_found_again(tmp_path: Path) -> None:
    encoder = FakeEncoder()
    refresh_index(tmp_path / "index", KEYS, TEXTS, encoder)
    index = load_index(tmp_path / "index", encoder)
    ((key, score),) = index.search(encoder.encode(["title of b"])[0], 1)
    assert key == "b"
    assert score == pytest.approx(1.0)
    assert index.keys == ("a", "a", "b")


def test_nothing_is_embedded_or_written_when_nothing_changed(tmp_path: Path) -> None:
    refresh_index(tmp_path, KEYS, TEXTS, FakeEncoder())
    before, encoder = files(tmp_path), FakeEncoder()
    refresh_index(tmp_path, KEYS, TEXTS, encoder)
    assert encoder.seen == []
    assert files(tmp_path) == before


def test_only_changed_texts_are_embedded_again(tmp_path: Path) -> None:
    refresh_index(tmp_path, KEYS, TEXTS, FakeEncoder())
    encoder = FakeEncoder()
    index = refresh_index(tmp_path, [*KEYS, "c"], [TEXTS[0], "another line", TEXTS[2], "c"], encoder)
    assert encoder.seen == ["another line", "c"]
    fresh = FakeEncoder().encode([TEXTS[0], "another line", TEXTS[2], "c"])
    assert np.array_equal(index.vectors, fresh)


def test_a_refreshed_index_has_the_bytes_of_one_made_anew(tmp_path: Path) -> None:
    refresh_index(tmp_path / "a", ["b", "z"], [TEXTS[2], "gone"], FakeEncoder())
    refresh_index(tmp_path / "a", KEYS, TEXTS, FakeEncoder())
    refresh_index(tmp_path / "b", KEYS, TEXTS, FakeEncoder())
    assert {name: data for name, (data, _) in files(tmp_path / "a").items()} == {
        name: data for name, (data, _) in files(tmp_path / "b").items()
    }


def test_a_text_that_stands_twice_is_embedded_once(tmp_path: Path) -> None:
    encoder = FakeEncoder()
    index = refresh_index(tmp_path, ["a", "b"], ["same", "same"], encoder)
    assert encoder.seen == ["same"]
    assert len(index) == 2


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (FakeEncoder(model_hash="m2"), "model m1"),
        (FakeEncoder(dims=16), "vector length 8"),
        (FakeEncoder(backend="sentence-transformers"), "back end onnx"),
    ],
)
def test_an_index_of_another_encoder_is_refused_and_replaced(
    tmp_path: Path, other: FakeEncoder, named: str
) -> None:
    refresh_index(tmp_path, KEYS, TEXTS, FakeEncoder())
    with pytest.raises(ModelError, match=named) as told:
        load_index(tmp_path, other)
    assert "bot corpus build" in told.value.remedy
    refresh_index(tmp_path, KEYS, TEXTS, other)
    assert len(load_index(tmp_path, other)) == 3
    assert len(list(tmp_path.iterdir())) == 2


def test_an_index_of_an_older_converter_is_refused(tmp_path: Path) -> None:
    refresh_index(tmp_path, KEYS, TEXTS, FakeEncoder())
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "converter_version": 0}))
    with pytest.raises(ModelError, match="converter version 0"):
        load_index(tmp_path, FakeEncoder())


def test_a_missing_index_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="There is no index"):
        load_index(tmp_path / "nowhere", FakeEncoder())


@pytest.mark.parametrize("damage", [b"", b"not json", b'{"format": 1}'])
def test_a_manifest_that_cannot_be_read_is_told(tmp_path: Path, damage: bytes) -> None:
    refresh_index(tmp_path, KEYS, TEXTS, FakeEncoder())
    (tmp_path / "manifest.json").write_bytes(damage)
    with pytest.raises(ModelError, match="Can't read"):
        load_index(tmp_path, FakeEncoder())


def test_a_damaged_index_file_is_told(tmp_path: Path) -> None:
    refresh_index(tmp_path, KEYS, TEXTS, FakeEncoder())
    data = next(tmp_path.glob("index-*.npz"))
    data.write_bytes(data.read_bytes()[:-1])
    with pytest.raises(ModelError, match="damaged"):
        load_index(tmp_path, FakeEncoder())


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelError, match="Can't write"):
        refresh_index(tmp_path / "file", KEYS, TEXTS, FakeEncoder())


def test_an_empty_index_can_be_kept(tmp_path: Path) -> None:
    refresh_index(tmp_path, [], [], FakeEncoder())
    assert len(load_index(tmp_path, FakeEncoder())) == 0
