import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from embeddings.encoder import OnnxEncoder, converted, discard
from embeddings.errors import ModelError
from embeddings.model_files import ModelFiles
from tests.embeddings.small_model import write_small_model

_CONVERT = """
import sys
from pathlib import Path
from embeddings.encoder import OnnxEncoder
print(OnnxEncoder(Path(sys.argv[1]), Path(sys.argv[2])).encode(["abc"]).tobytes().hex())
"""


def test_a_second_call_takes_what_the_first_wrote(tmp_path: Path) -> None:
    model = ModelFiles.open(write_small_model(tmp_path / "model"))
    graph = converted(model, tmp_path / "cache")
    written = graph.stat().st_mtime_ns
    assert converted(model, tmp_path / "cache") == graph
    assert graph.stat().st_mtime_ns == written
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [graph.parent.name]


def test_two_processes_may_convert_at_once(tmp_path: Path) -> None:
    folder = write_small_model(tmp_path / "model")
    command = [sys.executable, "-c", _CONVERT, str(folder), str(tmp_path / "cache")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    vectors = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(set(vectors)) == 1
    assert len([path for path in (tmp_path / "cache").iterdir() if path.is_dir()]) == 1


def test_converting_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    model = ModelFiles.open(write_small_model(tmp_path / "model"))
    first, second = (converted(model, tmp_path / name).parent for name in ("a", "b"))
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes()


def test_a_discarded_conversion_is_written_again(tmp_path: Path) -> None:
    model = ModelFiles.open(write_small_model(tmp_path / "model"))
    graph = converted(model, tmp_path / "cache")
    discard(graph)
    assert not graph.exists()
    assert converted(model, tmp_path / "cache").is_file()


@pytest.mark.parametrize("name", ["model.onnx", "weights.bin"])
def test_a_cache_cut_short_is_written_again(tmp_path: Path, name: str) -> None:
    folder = write_small_model(tmp_path / "model")
    wanted = OnnxEncoder(folder, tmp_path / "cache").encode(["abc"])
    damaged = converted(ModelFiles.open(folder), tmp_path / "cache").parent / name
    damaged.write_bytes(damaged.read_bytes()[:100])
    assert np.array_equal(OnnxEncoder(folder, tmp_path / "cache").encode(["abc"]), wanted)


def test_a_cache_that_cannot_be_written_is_told_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises(ModelError) as told:
        OnnxEncoder(write_small_model(tmp_path / "model"), tmp_path / "cache")
    assert "100 MB" in told.value.remedy
