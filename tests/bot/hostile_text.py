"""Strategies for texts that try to come alive."""

from __future__ import annotations

from hypothesis import strategies as st

FRAGMENTS = (
    "@octocat", "@acme/team", "&#64;octocat", "@\u200boctocat", "#12", "acme/train#12", "GH-12", "&#35;12",
    "a5c3785ed8d6a35868bc169f07e40e889087fd2e", "deadbeef", "acme/train@deadbeef1", "www.evil.example",
    "https://evil.example/x", "http://evil.test", "ftp://evil.example", "mailto:a@b.example", "a@b.example",
    "<https://evil.example>", "[text](https://evil.example)", "[text][ref]", "[ref]: https://evil.example",
    "![x](https://evil.example/p.png)", "<img src=x>", "<script>alert(1)</script>", "<!-- hidden -->", "-->",
    "</details>", "<details open>", "<summary>", "</summary>", "`", "``", "```", "````", "~~~", "```mermaid",
    "\n", "\n\n", "\r", "\r\n", "\u2028", "\x85", "\v", "\f", "\t", "    ", "> ", "- ", "1. ", "* ", "# ",
    "| a | b |\n|---|---|\n", "***", "**", "_", "~~", "\\", "\\`", "$x$", "$`x`$", "$$", "[^1]", "[^1]: note",
    "\u202e", "\u2066", "\u200b", "\ufeff", "\U000e0041", "\0", "\x1b[31m", "\ud800", ":+1:", "&lt;b&gt;",
    "/triage off", "<!-- distriage v1 kind=triage input=0 body=0 -->", "[ ] task", "===", "---", "&nbsp;",
    "javascript:alert(1)", "{", "}", "{name}", "%s", "word", "NCCL", "é", "語",
)  # fmt: skip

texts = st.one_of(
    st.text(max_size=80),
    st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join),
    st.lists(st.sampled_from(FRAGMENTS), max_size=12).map(" ".join),
    st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=8)), max_size=10).map("".join),
)
