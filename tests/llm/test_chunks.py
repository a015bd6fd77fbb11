"""Names under which the same model answers."""

from __future__ import annotations

import pytest

from llm.openai_client import same_model


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("gpt-x", "gpt-x"),
        ("gpt-x", "gpt-x-2026-01-31"),
        ("gpt-x", "gpt-x-0613"),
        ("acme/large-7b", "acme/large-7b@main"),
        ("acme/large-7b", "large-7b"),
        ("large-7b", "acme/large-7b"),
        ("llama9", "llama9:latest"),
        ("/models/a.gguf", "a.gguf"),
    ],
)
def test_the_same_model(asked: str, told: str) -> None:
    assert same_model(told, frozenset({asked}))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("gpt-x", "gpt-x-mini"),
        ("gpt-x", "gpt-y"),
        ("gpt-x", "gpt"),
        ("large-70b", "large-7b"),
        ("acme/large-7b", "other/large-8b"),
        ("gpt-x", "gpt-xl"),
    ],
)
def test_another_model(asked: str, told: str) -> None:
    assert not same_model(told, frozenset({asked}))
