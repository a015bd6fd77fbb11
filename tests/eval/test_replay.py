"""A replay: only what came before counts, and marks say what was right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eval.history import LOWEST, Replayed, figures, own_threshold, proven_threshold, replay
from knowledge.history.tracker import groups, in_order
from knowledge.history.verifier import load_weights
from tests.knowledge.history.tiny import AGAIN, OTHERS, made, post


def test_what_would_have_been_shown_and_what_of_it_was_marked() -> None:
    copy = replace(AGAIN, id="7", opened=post("7", "", "", 12).opened)
    records = in_order(made([copy, AGAIN, *OTHERS]))
    ids = [record.id for record in records]
    assert ids == ["1", "2", "3", "4", "5", "6", "7"]
    marked = groups(ids, {"7": ["6"], "3": ["5"]})
    found = replay(records, marked, load_weights())
    shown = {
        one.record.id: [(n.record.id, right) for n, right in one.shown(0.05)]
        for one in found
        if one.shown(0.05)
    }
    assert shown == {"6": [("2", False)], "7": [("6", True), ("2", False)]}
    numbers = figures(found, 0.05)
    assert (numbers.reports, numbers.with_earlier, numbers.commented) == (7, 2, 2)
    assert (numbers.precision.value, numbers.coverage.value) == (pytest.approx(1 / 3), pytest.approx(0.5))
    assert figures(found, 0.99).commented == 1, "a copy is shown at any threshold"
    assert own_threshold(found) is None, "three matches say nothing"


def test_a_threshold_of_its_own_needs_ten_matches_nine_in_ten_of_them_marked() -> None:
    [one] = [
        r for r in replay(in_order(made([*OTHERS, AGAIN])), [0, 1, 2, 3, 4, 1], load_weights()) if r.near
    ][-1:]
    near = one.near[0]

    def seen(p: float, right: bool) -> Replayed:
        return replace(one, near=(replace(near, p=p),), marked=(right,))

    right = [seen(0.9 - n / 100, True) for n in range(9)]
    assert own_threshold([*right, seen(0.5, False)]) == 0.5
    assert own_threshold(right) is None
    assert own_threshold([*right, seen(0.5, False), seen(0.4, False)]) == 0.5


def test_a_threshold_that_fits_itself_must_hold_on_the_newer_reports() -> None:
    [one] = [
        r for r in replay(in_order(made([*OTHERS, AGAIN])), [0, 1, 2, 3, 4, 1], load_weights()) if r.near
    ][-1:]
    near = replace(one.near[0], copied=False)

    def seen(p: float, right: bool = True, times: int = 1) -> list[Replayed]:
        return [replace(one, near=(replace(near, p=p),), marked=(right,))] * times

    def proven(older: list[Replayed], newer: list[Replayed]) -> float | None:
        assert len(older) * 3 == len(newer) * 7
        return proven_threshold([*older, *newer], 0.74)

    older = [*seen(0.6, times=21), *seen(0.55, False, 7)]
    assert proven(older, seen(0.6, times=12)) == 0.6
    assert proven(older, [*seen(0.6, times=10), *seen(0.7, False, 2)]) is None, "10 of 12 are right"
    assert proven(older, [*seen(0.6, times=9), *seen(0.1, False, 3)]) is None, "nine matches say nothing"
    assert proven([*seen(0.6, times=20), *seen(0.65, False, 8)], seen(0.6, times=12)) is None
    assert proven(seen(0.3, times=28), seen(0.6, times=12)) == LOWEST, "the verifier has a say, too"
    assert proven(seen(0.3, times=28), seen(0.4, times=12)) is None
    assert proven(seen(0.9, times=28), seen(0.9, times=12)) is None, "never above the shipped one"


def test_of_nothing_nothing_is_said() -> None:
    numbers = figures(replay([], [], load_weights()), 0.5)
    assert numbers.precision.value is None and numbers.coverage.value is None
