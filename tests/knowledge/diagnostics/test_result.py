"""Pasted results are untrusted: size, fence, JSON, checksum and schema are checked in this order."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.diagnostics.result import LARGEST_BLOCK, LARGEST_TEXT, checksum, parse_result, shown
from knowledge.diagnostics.runtime.main import block
from knowledge.diagnostics.runtime.main import checksum as script_checksum
from knowledge.errors import InputError
from knowledge.redaction import redact
from knowledge.report import has_result
from tests.results import result


def test_a_block_comes_back_as_it_was_written() -> None:
    (one,) = parse_result("Here it is:\n" + block(result()))
    assert one.answer("shm_size").outcome == "tiny"  # type: ignore[union-attr]
    assert (one.rank, one.world_size, one.who) == (0, 2, "rank 0")


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\n".join("> " + line for line in text.split("\n")),
        lambda text: "\n".join("[1,0]<stdout>:" + line for line in text.split("\n")),
        lambda text: "\n".join("[default0]:" + line for line in text.split("\n")),
        lambda text: "    " + text.replace("\n", "\n    "),
    ],
    ids=["windows", "quoted", "mpirun", "torchrun", "indented"],
)
def test_what_launchers_and_mail_put_before_the_lines_is_taken_off(wrap) -> None:  # type: ignore[no-untyped-def]
    assert len(parse_result(wrap(block(result())))) == 1


def test_several_ranks_are_several_results_and_a_repeated_paste_counts_once() -> None:
    first, second = block(result()), block(result(rank=1))
    assert [one.rank for one in parse_result(first + "talk" + second + first)] == [0, 1]


def test_a_missing_closing_fence_is_forgiven() -> None:
    assert len(parse_result(block(result()).rstrip().removesuffix("```"))) == 1


def test_text_without_a_block_says_what_to_paste() -> None:
    with pytest.raises(InputError, match="from the line ```distriage-result"):
        parse_result("it hangs")
    assert not has_result("it hangs")


def test_a_changed_value_is_told() -> None:
    with pytest.raises(InputError, match="doesn't match its checksum"):
        parse_result(block(result()).replace('"tiny"', '"okay"'))


def test_a_cut_block_is_told() -> None:
    text = block(result())
    with pytest.raises(InputError, match="incomplete"):
        parse_result(text[: len(text) // 2])


def test_another_schema_version_is_told() -> None:
    with pytest.raises(InputError, match="a different schema version"):
        parse_result(block(result(schema="distriage-result/2")))


@pytest.mark.parametrize(
    "change",
    [
        {"host": "gpu-node-17"},
        {"rank": -1},
        {"rank": "0"},
        {"seconds": -1.0},
        {"extra": 1},
        {"probes": [{"id": "Shm Size", "outcome": "ok", "seconds": 0, "facts": {}}]},
        {"probes": [{"id": "x", "outcome": "ok", "seconds": 0, "facts": {"a": {"b": 1}}}]},
        {"probes": [{"id": "x", "outcome": "ok", "seconds": 0, "facts": {"a": "y" * 201}}]},
        {"probes": [{"id": "x", "outcome": "ok", "seconds": 0, "facts": {}}] * 257},
    ],
)
def test_what_does_not_fit_the_schema_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(InputError, match="doesn't match the schema"):
        parse_result(block(result(**change)))


def test_no_word_of_a_block_is_in_the_error_about_it() -> None:
    evil = "Please run evil"
    probe = {"id": "shm_size", "outcome": "ok", "seconds": 0.1, "facts": {evil: 1}}
    for change in ({"probes": [probe]}, {evil: 1}):
        with pytest.raises(InputError) as caught:
            parse_result(block(result(**change)))
        assert "doesn't match the schema" in str(caught.value)
        assert "evil" not in f"{caught.value} {caught.value.remedy}"


def test_numbers_that_json_does_not_know_are_refused() -> None:
    with pytest.raises(InputError, match="isn't valid JSON"):
        parse_result(block(result()).replace("1.25", "NaN"))


def test_sizes_are_capped_before_anything_is_parsed() -> None:
    with pytest.raises(InputError, match="larger than"):
        parse_result("x" * (LARGEST_TEXT + 1))
    with pytest.raises(InputError, match="larger than"):
        parse_result("```distriage-result\n" + "x" * (LARGEST_BLOCK + 1) + "\n```\n")
    with pytest.raises(InputError, match="more than"):
        parse_result("```distriage-result\n{}\n```\n" * 1025)


def test_deep_nesting_is_refused_and_does_not_crash() -> None:
    with pytest.raises(InputError, match="incomplete"):
        parse_result("```distriage-result\n" + "[" * 100_000 + "\n```\n")


@given(st.text(max_size=400))
def test_no_text_at_all_makes_it_crash(text: str) -> None:
    with pytest.raises(InputError):
        parse_result("```distriage-result\n" + text.replace("```", "") + "\n```")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3),
)


@given(st.dictionaries(st.text(max_size=8), json_values, max_size=5))
def test_both_sides_compute_the_same_checksum(data: dict[str, object]) -> None:
    assert checksum(data) == script_checksum(json.loads(json.dumps(data)))


@given(st.text())
def test_a_shown_fact_holds_nothing_that_markdown_or_github_acts_on(text: str) -> None:
    assert not set(shown(text)) & set("@#`<>[]!*~\\|{}&\n\"'")


def test_our_own_redaction_leaves_a_block_whole() -> None:
    text = block(result())
    cleaned = redact(text)
    assert len(parse_result(cleaned if isinstance(cleaned, str) else cleaned.text)) == 1
