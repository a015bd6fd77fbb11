"""A fake LLM server, a client of it and a configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from llm.openai_client import OpenAiClient
from llm.values import LlmConfig
from tests.llm.fake_server import MODEL, FakeLlm, serve

MakeClient = Callable[..., OpenAiClient]


@pytest.fixture
def llm() -> FakeLlm:
    return FakeLlm()


@pytest.fixture
def config(llm: FakeLlm) -> Iterator[LlmConfig]:
    """Against the fake server; prices as of a small hosted model."""
    with serve(llm) as url:
        yield LlmConfig(url, MODEL, api_key="key-1", timeout=5, price_input=0.2, price_output=0.8)


@pytest.fixture
def client(config: LlmConfig) -> Iterator[OpenAiClient]:
    with OpenAiClient(config) as client:
        yield client
