"""JSON in whatever wrapping models put around it."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.faults import InvalidJson
from llm.replies import find_object


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        'Sure!\n```json\n{"a": 1}\n```\nAnything else?',
        '<think>maybe {"a": 2}</think>{"a": 1}',
        'the set {x} is empty; {"a": 1} {"a": 3}',
    ],
)
def test_the_object_is_found(text: str) -> None:
    assert find_object(text) == {"a": 1}


@pytest.mark.parametrize("text", ["", "no", "[1, 2]", '{"a": ', "{'a': 1}", "{" * 100_000, '{"a":' * 50_000])
def test_no_object_is_a_fault(text: str) -> None:
    with pytest.raises(InvalidJson):
        find_object(text)


def test_a_reply_of_braces_is_given_up_soon() -> None:
    start = time.process_time()
    with pytest.raises(InvalidJson):
        find_object('{"a":[' * 60_000)
    assert time.process_time() - start < 2


@given(st.text(alphabet='{}[]":,a1 \n<think/>', max_size=60))
def test_any_text_is_an_object_or_a_fault(text: str) -> None:
    with contextlib.suppress(InvalidJson):
        assert isinstance(find_object(text), dict)
