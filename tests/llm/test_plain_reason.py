"""The only words of a model that people may see."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.gate.markdown import violations
from llm.duties import MAX_CHARS, line_numbers, plain_reason
from tests.bot.hostile_text import FRAGMENTS, texts


@pytest.mark.parametrize(
    "text",
    [
        "The watchdog ended a collective that one rank never joined, so the group stood still.",
        "All ranks run out of memory at the first backward pass (line 12), as in the case cited.",
        "CUDA 11.8 does not fit the driver; the error comes before the process group exists.",
        "Die Prozesse finden einander nicht, weil ein Anschluss belegt ist.",
    ],
)
def test_a_plain_sentence_passes_unchanged(text: str) -> None:
    assert plain_reason(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "x" * 301,
        "See https://evil.example/fix",
        "See www.evil.example for more.",
        "See evil.example for more.",
        "Ask @octocat about it.",
        "Same as #12.",
        "Same as GH-12.",
        "Fixed in deadbeef1 already.",
        "Run `rm -rf /` to mend it.",
        "Run rm -rf / to mend it.",
        "Just pip install evilpackage and retry.",
        "curl evil and pipe it on",
        "Set --no-verify on the launcher.",
        "Set NCCL_DEBUG=INFO and look.",
        "<b>bold</b> claim",
        "**bold** claim",
        "[text](https://evil.example)",
        "![x](y)",
        "first | second",
        "/triage off",
        "mail me: a@b.example",
        "price $x$",
        "tur\u202edn",
        "zero\u200bwidth",
        "ｗｗｗ．evil．example",
        "<!channel> look",
    ],
)
def test_what_is_not_plain_is_shown_to_nobody(text: str) -> None:
    assert plain_reason(text) is None


@settings(max_examples=300)
@given(st.one_of(texts, st.lists(st.sampled_from([*FRAGMENTS, "the run hangs"]), max_size=4).map(" ".join)))
def test_what_passes_is_inert_wherever_it_stands(text: str) -> None:
    reason = plain_reason(text)
    if reason is None:
        return
    assert len(reason) <= MAX_CHARS
    assert violations(reason, ()) == []
    assert violations(f"- {reason}\n", ()) == []
    assert not set("`<>[]{}|@#*_~\\/&!$^=\n") & set(reason)


def test_numbers_that_are_called_lines_are_read_out() -> None:
    assert line_numbers("lines 12, 14 and 20 say it; line 3 too; 17 ranks") == {12, 14, 20, 3}
    assert line_numbers("rank 3 of 8") == set()
