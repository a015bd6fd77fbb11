"""Many patterns in one pass: places are those of the line, and what is looked at is bounded."""

from __future__ import annotations

from knowledge.signatures.signature import MAX_HITS, MAX_LINE, LineFilter


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
