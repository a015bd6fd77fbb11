"""Many patterns in one pass: places are those of the line, and what is looked at is bounded."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from knowledge.findings.failure import load_catalogue
from knowledge.signatures import load_signatures
from knowledge.signatures.line_filter import ANYWHERE, MAX_HITS, MAX_LINE, LineFilter, work_out


def hits(patterns: list[str], *lines: str) -> list[tuple[int, int, int, int]]:
    return list(LineFilter(patterns).match(lines))


def test_every_pattern_of_a_line_is_found_by_line() -> None:
    assert hits(["two", "one"], "one two", "nothing", "one") == [(0, 0, 4, 7), (1, 0, 0, 3), (1, 2, 0, 3)]


def test_without_patterns_nothing_is_found() -> None:
    assert hits([], "anything") == []


def test_a_pattern_needs_all_of_it_not_only_its_literal() -> None:
    assert hits([r"rank \d+ died"], "rank x died", "rank 12 died") == [(0, 1, 0, 12)]


def test_places_count_characters_not_bytes() -> None:
    line = "échec → NCCL \ud800 error"
    ((_, _, start, end),) = hits(["error"], line)
    assert line[start:end] == "error"


def test_only_the_beginning_of_a_line_is_looked_at() -> None:
    assert hits(["needle"], " " * (MAX_LINE - 6) + "needle") != []
    assert hits(["needle"], " " * (MAX_LINE - 5) + "needle") == []


def test_a_pattern_that_repeats_is_bounded_and_costs_no_other() -> None:
    found = hits(["often", "rare"], *["often"] * (MAX_HITS + 5), "often rare")
    assert [index for index, *_ in found] == [0] * MAX_HITS + [1]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("NCCL error", ("nccl error",)),
        (r"rank \d+ has died", (" has died",)),
        (r"(?i)ECC error|Xid \(PCI\)", ("ecc error", "xid ")),
        (r"(?:out of|not enough) memory", (" memory",)),
        (r"x(?:timeout|timed out)", ("timeout", "timed out")),
        (r"(?:timeout )?ab", ("ab",)),
        (r"colou?r", ("colo",)),
        (r"go{2}d", ("g",)),
        (r"a[]x]long|b[^]]c", ("long", "b")),
        (r"a(?:b|)", ("a",)),
        (r"\w+|abc", ANYWHERE),
        (r"\Qa|b\E", ANYWHERE),
        (r"\x41bc", ANYWHERE),
    ],
)
def test_the_words_of_a_pattern_are_in_every_line_that_it_matches(
    pattern: str, words: tuple[str, ...]
) -> None:
    assert work_out(pattern) == words


_PIECE = st.one_of(st.sampled_from(["a", "B", "x?", "c*", "d+", ".", "[ab]", r"\d", r"\.", " ", "e{2}"]))
_PATTERN = st.recursive(
    st.lists(_PIECE, min_size=1, max_size=4).map("".join),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("|".join).map("(?:{})".format),
        st.tuples(inner, st.sampled_from(["", "?", "+", "*"])).map(lambda two: f"({two[0]}){two[1]}"),
        st.lists(inner, min_size=2, max_size=3).map("".join),
    ),
    max_leaves=6,
)


@given(_PATTERN, st.text("aABbxcde1. ", max_size=12), st.sampled_from(["", "(?i)"]))
def test_no_line_matches_that_lacks_the_words(pattern: str, line: str, flag: str) -> None:
    if re2.compile(flag + pattern).search(line):
        assert any(word in line.casefold() for word in work_out(flag + pattern))


def test_the_first_texts_are_told_the_same_as_later_ones() -> None:
    signatures = load_signatures()
    patterns = [one.pattern for one in signatures]
    patterns += [pattern for entry in load_catalogue().values() for pattern in entry.patterns]
    early, late = LineFilter(patterns), LineFilter(patterns)
    list(late.match(["much text"] * 10_000))
    for start in range(0, len(signatures), 40):
        lines = [one.sample for one in signatures[start : start + 40]]
        assert list(early.match(lines)) == list(late.match(lines)) != []


def test_letters_that_only_fold_to_ascii_are_found_at_once() -> None:
    assert hits(["(?i)disk"], "di\u017f\u212a") == [(0, 0, 0, 4)]
