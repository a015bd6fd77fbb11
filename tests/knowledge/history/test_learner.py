"""Fitting: what is learned from few reports, and what is not claimed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from knowledge.history.learner import (
    LEAST,
    NEVER,
    Compared,
    Prediction,
    fit,
    fit_rank,
    fit_threshold,
    held_out,
    shown_figures,
)
from knowledge.history.pairs import NAMES, TELLING
from knowledge.history.record import Post
from knowledge.history.tracker import Tracker
from knowledge.history.verifier import verified
from knowledge.training.history import example_tracker, judged_pairs, kept_together, linked_trackers

TITLE = NAMES.index("title")
WORDS = NAMES.index("words")


def reports(count: int, *, informative: int = TITLE, seed: int = 0) -> list[Compared]:
    """Every second has a marked earlier report, which column `informative` tells; the other columns are noise."""
    draw = np.random.default_rng(seed)
    out = []
    for n in range(count):
        pairs = draw.random((20, len(NAMES))) * 0.5
        right = np.zeros(20, bool)
        if n % 2 == 0:
            right[draw.integers(20)] = True
            pairs[right, informative] += 0.5
            pairs[right, NAMES.index("errors")] = 1.0
        tells = draw.random((20, len(TELLING)))
        out.append(Compared(str(n), "one", pairs, tells, right, right, n % 2 == 0))
    return out


def test_the_column_that_tells_gets_the_weight_and_none_is_negative() -> None:
    rank = fit_rank(reports(60))
    assert rank.min() >= 0
    assert rank[TITLE] > 3 * rank[WORDS]


def test_held_out_predictions_find_what_can_be_found() -> None:
    given = reports(80)
    found = held_out(given)
    hits = [one.place == 1 for r, one in zip(given, found, strict=True) if r.has_earlier]
    assert np.mean(hits) > 0.9
    assert all(one.place is None for r, one in zip(given, found, strict=True) if not r.has_earlier)


def test_noise_gives_no_threshold() -> None:
    draw = np.random.default_rng(1)
    chance = [
        Prediction(None, draw.random(2), draw.random(2) < 0.3, np.ones(2, bool), True) for _ in range(200)
    ]
    assert fit_threshold(chance) == NEVER


def prediction(p: float, same: bool, reason: bool = True) -> Prediction:
    return Prediction(1 if same else None, np.array([p]), np.array([same]), np.array([reason]), same)


def test_a_threshold_needs_enough_right_ones_that_have_a_reason() -> None:
    right = [prediction(0.9 - n / 1000, True) for n in range(LEAST)]
    wrong = [prediction(0.5, False)] * 5
    assert fit_threshold([*right, *wrong]) == pytest.approx(0.9 - (LEAST - 1) / 1000)
    assert fit_threshold([*right[1:], *wrong]) == NEVER
    assert fit_threshold([prediction(0.9, True, reason=False)] * 50) == NEVER


def test_what_is_shown_is_counted() -> None:
    given = [
        prediction(0.9, True),
        prediction(0.8, False),
        prediction(0.2, True),
        prediction(0.9, True, False),
    ]
    seen = shown_figures(given, 0.5)
    assert (seen.matches, seen.right, seen.reports, seen.reached) == (2, 1, 3, 1)


def test_weights_of_a_whole_fit_show_marked_reports() -> None:
    weights = fit(reports(80))
    assert weights.threshold < 1
    given = reports(20, seed=7)
    everything = np.arange(20)
    p = [
        weights.probabilities(verified(r.pairs, weights.scores(r.pairs), everything, r.tells)) for r in given
    ]
    assert np.mean([one[r.right].mean() for r, one in zip(given, p, strict=True) if r.right.any()]) > 0.7


def test_reports_that_name_an_earlier_one_make_a_tracker(tmp_path: Path) -> None:
    bodies = {
        "a/b#1": "It hangs.",
        "a/b#2": "Seems to be the same as #1 but on two nodes.",
        "a/b#3": "torch 1.2, build #1",
        "c/d#1": "Similar to #7, which is not here.",
    }
    file = tmp_path / "reports.jsonl.gz"
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        for id, body in bodies.items():
            lines.write(json.dumps({"id": id, "opened": "2020-01-01", "title": "t", "body": body}) + "\n")
    ((name, tracker),) = linked_trackers(file)
    assert name == "a/b"
    assert {tracker.posts[at].id: right for at, right in tracker.queries().items()} == {"a/b#2": {"a/b#1"}}


def test_pairs_that_a_reader_joined_are_left_out_together() -> None:
    posts = tuple(Post(id, "", "") for id in "abcde")
    tracker = Tracker(posts, (1, 2, 1, 3, 4))
    joined = [frozenset("bc"), frozenset("dx")]
    first, second, third, fourth, fifth = kept_together(tracker, joined)
    assert first == second == third and len({first, fourth, fifth}) == 3


def test_judged_pairs_and_examples_can_be_read() -> None:
    from knowledge.training.history import JUDGED

    assert len(judged_pairs(JUDGED)) == len(JUDGED.read_text("utf-8").splitlines())
    tracker = example_tracker()
    assert len(tracker.queries()) > len(tracker.posts) / 2
