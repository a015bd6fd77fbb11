"""The servers, started once; without their packages these tests are skipped and say so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llm_server import servers, tiny_models


@pytest.fixture(scope="session")
def llama_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    for name in ("gguf", "xllamacpp"):
        pytest.importorskip(name, reason="needs `make test-llm-server`, which installs it")
    model = tiny_models.write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")
    with servers.llama_cpp(model) as url:
        yield url


@pytest.fixture(scope="session")
def transformers_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.write_transformers(tmp_path_factory.mktemp("hf") / "tiny")


@pytest.fixture(scope="session")
def transformers_url(transformers_model: Path) -> Iterator[str]:
    pytest.importorskip("torch", reason="needs `make test-llm-server`, which installs it")
    pytest.importorskip("transformers", reason="needs `make test-llm-server`, which installs it")
    with servers.transformers_serve(transformers_model) as url:
        yield url
