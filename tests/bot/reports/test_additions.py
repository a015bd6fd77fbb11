"""What counts as evidence in what is said after a report, by its words alone."""

from __future__ import annotations

import pytest

from bot.reports.additions import MANY_CHARS, adds_evidence, both_ends, has_log, unquoted

LINE = "2026-05-03 10:02:31 rank 3: ncclSystemError: connection refused"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{LINE}\n{LINE}", True),
        (LINE, False),
        (f"```\n{LINE}\n```", True),
        ("```\none\ntwo\nthree\n```", True),
        ("```\none\n```", False),
        # A block that nobody closed goes on to the end.
        ("It printed:\n```\none\ntwo\nthree", True),
        ("It still hangs on the second node.", False),
        (f"> {LINE}\n> {LINE}\nThe same here.", False),
    ],
)
def test_whether_a_text_shows_what_a_program_printed(text: str, shown: bool) -> None:
    assert has_log(text) is shown


@pytest.mark.parametrize(
    ("text", "author", "others"),
    [
        (f"```\n{LINE}\n```", True, True),
        ("```\nx = 1\n```", True, False),
        ("torch 2.3.1", True, False),
        ("torch 2.3.1\ncuda 12.1", True, True),
        ("word " * MANY_CHARS, True, False),
        ("`torchrun train.py`", True, False),
        ("Thanks!", False, False),
    ],
)
def test_an_author_adds_more_easily_than_others(text: str, author: bool, others: bool) -> None:
    assert (adds_evidence(text, by_author=True), adds_evidence(text, by_author=False)) == (author, others)


def test_of_a_long_text_both_ends_are_kept() -> None:
    assert both_ends("short", 10) == "short"
    kept = both_ends("first" + "x" * 1000 + "last", 100)
    assert kept.startswith("first") and kept.endswith("last") and len(kept) <= 101


def test_a_text_that_fits_once_its_secrets_are_gone_is_not_cut() -> None:
    text = "token ghp_" + "a1B2" * 9 + " end"
    kept = both_ends(text, len(text) - 1)
    assert "ghp_" not in kept and kept.startswith("token") and kept.endswith("end")


def test_a_prompt_in_a_block_of_code_is_no_quote() -> None:
    assert unquoted("> said\n```\n> prompt\n```\nmore") == "```\n> prompt\n```\nmore"
