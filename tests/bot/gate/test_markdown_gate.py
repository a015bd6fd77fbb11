"""The gate refuses by a real parser whatever is not on its list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.gate.markdown import MAX_CHARS, pass_markdown, violations
from bot.gate.rules import GateError, case_link, pass_labels
from knowledge.text.quote import clean, code_block, code_span, fenced, prose
from tests.bot.hostile_text import FRAGMENTS, texts
from tests.bot.live import live

LINK = "https://redirect.github.com/a/b/issues/1"


@pytest.mark.parametrize(
    "body",
    [
        "hello @octocat", "&#64;octocat", "@**octocat**", "see #12", "# 1", "GH-12", "acme/train#12",
        "a5c3785ed8d6a35868bc169f07e40e889087fd2e", "see www.evil.example", "https://evil.example",
        "<https://evil.example>", "[x](https://evil.example)", "[x][y]\n\n[y]: https://evil.example",
        "[y]: https://evil.example", "![x](https://redirect.github.com/a/b/issues/1)", "<b>x</b>",
        "x <b>y</b>", "<img src=x>", "<!-- other -->", "<details open>", "| a |\n|---|\n| b |", "~~x~~",
        "> quote", "    indented", "***\n", "Title\n===", "$x$", "$`x`$", "note[^1]", "me@mail.example",
        "mailto:x", "a\u202eb", "a\u200bb", "```mermaid\ngraph\n```", "`\u2066`", "a  \nb", "x\0",
        "<details>\n<summary>ask @octocat</summary>\n\n</details>", "<summary>www.evil.example</summary>",
    ],
)  # fmt: skip
def test_refused(body: str) -> None:
    assert violations(body, [LINK])
    with pytest.raises(GateError):
        pass_markdown(body, [LINK])


@pytest.mark.parametrize(
    "body",
    [
        "plain words, **strong** and *em*.", "`@octocat #12 https://evil.example <b>`",
        "```text\n@octocat ![x](y) <script>\n```", f"[`a/b#1`]({LINK})", "- a\n- b\n\n1. c",
        "<details>\n<summary>Show it (2)</summary>\n\nx\n\n</details>",
        "<!-- distriage v1 kind=triage input=00 body=00 -->\nx",
    ],
)  # fmt: skip
def test_passes(body: str) -> None:
    assert violations(body, [LINK]) == []
    assert live(body, frozenset({LINK})) == []


def test_too_long_is_refused_before_it_is_parsed() -> None:
    assert violations("x" * (MAX_CHARS + 1), []) == [f"longer than {MAX_CHARS} characters"]


def test_a_refusal_repeats_nothing() -> None:
    with pytest.raises(GateError) as error:
        pass_markdown("@octocat", [])
    assert "octocat" not in str(error.value)


@given(texts)
def test_what_the_gate_lets_through_is_inert(body: str) -> None:
    if not violations(body, [LINK]):
        assert live(body, frozenset({LINK})) == []


@given(texts)
def test_quoted_inline_is_inert_in_any_place(text: str) -> None:
    for body in (f"x {code_span(text)} y", f"- {code_span(text)}", f"**{code_span(text)}**", code_span(text)):
        assert violations(body, []) == []
        assert live(body, frozenset()) == []


@given(texts)
def test_a_quoted_block_is_inert_and_closes(text: str) -> None:
    body = f"before\n\n{code_block(text)}\n\nafter *words*"
    assert violations(body, []) == []
    assert live(body, frozenset()) == []


@given(texts)
def test_prose_is_inert_in_any_place(text: str) -> None:
    for body in (
        f"x {prose(text)} y",
        f"- {prose(text)}",
        f"**{prose(text)}**",
        f"{prose(text)} ({prose(text)})",
    ):
        assert violations(body, []) == []
        assert live(body, frozenset()) == []


@given(st.lists(texts, min_size=2, max_size=4))
def test_pieces_side_by_side_are_inert(parts: list[str]) -> None:
    body = " ".join(prose(p) if n % 2 else code_span(p) for n, p in enumerate(parts))
    assert violations(body, []) == []


@given(texts)
def test_own_text_in_a_fence_is_kept_to_the_letter(text: str) -> None:
    kept = clean(text).strip("\n")
    assert f"\n{kept}\n" in fenced(kept, "text")


@given(texts)
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_every_fragment_alone_is_made_inert(fragment: str) -> None:
    body = f"{prose(fragment)}\n\n{code_span(fragment)}\n\n{code_block(fragment)}"
    assert violations(body, []) == []


def test_plain_words_stay_plain() -> None:
    text = "Set the interface that all nodes share (see the log), then run it again: 2.3.0 & later."
    assert prose(text) == text


def test_a_setting_becomes_code() -> None:
    assert prose("Set NCCL_DEBUG=INFO.") == "Set `NCCL_DEBUG=INFO`."


def test_code_keeps_its_comma() -> None:
    text = "Keep `A=1`, raise `timeout` in `init`; (`b`) or (see `c`)."
    assert prose(text) == text


def test_a_secret_is_gone_before_it_is_quoted() -> None:
    secret = "ghp_" + "a1B2" * 9
    hidden = "ghp_\u200b" + "a1B2" * 9
    assert secret not in code_span(hidden)
    assert secret not in code_block(f"token {secret}") + code_span(secret) + prose(f"use {secret}")


@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("https://github.com/a/b/issues/1", LINK),
        ("https://github.com/a/b/pull/1", "https://redirect.github.com/a/b/pull/1"),
        ("https://github.com.evil.example/a/b/issues/1", None),
        ("https://github.com/a/b/issues/1)![x](y", None),
        ("https://github.com/a/b/issues/1\n", None),
        ("http://github.com/a/b/issues/1", None),
        ("javascript:alert(1)", None),
    ],
)
def test_only_github_threads_are_linked(url: str, link: str | None) -> None:
    assert case_link(url) == link


def test_labels_pass_only_mapped_and_existing() -> None:
    assert pass_labels(["Hang", "new", "bug"], ["hang", "new"], ["hang", "bug"]) == ["hang"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("in range of [-1, 0], but got 1", "in range of `[-1, 0]`, but got 1"),
        ("[ray] list[int, str] fails", "`[ray]` `list[int, str]` fails"),
        ("Call unscale_() once.", "Call `unscale_()` once."),
        ("Use `ObjectRef`s, not non-`contiguous` ones.", "Use `ObjectRef`s, not non-`contiguous` ones."),
        ("See (foo(bar_baz)).", "See (`foo(bar_baz)`)."),
        ("Try torch.zeros(a_b, c) first.", "Try `torch.zeros(a_b, c)` first."),
        ("Set (NCCL_DEBUG=INFO, or nothing).", "Set (`NCCL_DEBUG=INFO`, or nothing)."),
        # Two spans that touch would be one.
        ("It is `a``b`.", "It is `a` `b`."),
    ],
)
def test_code_in_a_sentence_is_whole(text: str, shown: str) -> None:
    assert prose(text) == shown
