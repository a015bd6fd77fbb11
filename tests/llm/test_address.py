"""The base URLs of the servers that docs/llm.md names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from knowledge.errors import SettingsError
from llm.dialect import address_of
from llm.openai_client import OpenAiClient
from llm.values import ChatRequest, LlmConfig
from tests.llm.fake_server import FakeLlm

ASKED = ChatRequest("reader", "s", "u", {"type": "object"}, "key")


@pytest.mark.parametrize(
    ("base_url", "url", "header"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions", "Authorization"),
        ("http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1/chat/completions", "Authorization"),
        (
            "https://acme.openai.azure.com/openai/v1/",
            "https://acme.openai.azure.com/openai/v1/chat/completions",
            "Authorization",
        ),
        (
            "https://acme.openai.azure.com/openai/deployments/mini?api-version=2024-10-21",
            "https://acme.openai.azure.com/openai/deployments/mini/chat/completions?api-version=2024-10-21",
            "api-key",
        ),
        (
            "https://acme.openai.azure.com/openai/deployments/mini/chat/completions?api-version=2024-10-21",
            "https://acme.openai.azure.com/openai/deployments/mini/chat/completions?api-version=2024-10-21",
            "api-key",
        ),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions", "Authorization"),
    ],
)
def test_where_a_question_goes_and_how_the_key_travels(base_url: str, url: str, header: str) -> None:
    address = address_of(base_url)
    assert address.url == url
    assert list(address.key_header("k")) == [header]


@pytest.mark.parametrize(
    "base_url", ["localhost:11434", "ftp://x/v1", "http://", "http://[x", "/v1", "http://x/v1?key=1"]
)
def test_what_is_no_address_is_told(base_url: str) -> None:
    with pytest.raises(SettingsError, match="DISTRIAGE_LLM_BASE_URL"):
        address_of(base_url)


def test_azure_gets_its_version_and_its_own_header_and_nobody_s_token(
    llm: FakeLlm, config: LlmConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "somebody-elses")
    monkeypatch.setenv("OPENAI_ORG_ID", "somebody")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "something")
    root = config.base_url.removesuffix("/v1")
    azure = replace(config, base_url=f"{root}/openai/deployments/mini?api-version=2024-10-21")
    with OpenAiClient(azure) as client:
        assert client.complete(ASKED, 5).text == "{}"
    assert llm.paths == ["/openai/deployments/mini/chat/completions?api-version=2024-10-21"]
    headers = llm.seen_headers[0]
    assert headers["api-key"] == "key-1"
    assert not {"authorization", "openai-organization", "openai-project"} & set(headers)
    assert "somebody" not in str(headers)
