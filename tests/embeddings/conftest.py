"""One encoder for all tests of this room: converting and opening it takes most of a second."""

from pathlib import Path

import pytest

from embeddings.encoder import OnnxEncoder


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("model-cache")


@pytest.fixture(scope="session")
def encoder(cache_dir: Path) -> OnnxEncoder:
    return OnnxEncoder(None, cache_dir)
