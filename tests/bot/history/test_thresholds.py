"""A repository's threshold fits itself where people marked enough, and otherwise stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.github.history_jobs import queue_due_replays
from bot.history import thresholds
from bot.history.records import Marked, Progress, RepoHistory
from bot.history.thresholds import LEAST_MARKS, LEAST_NEW, due, fit_itself, is_due
from bot.jobs.queue import NewDelivery
from eval.history import Replayed
from tests.bot.history.memory_history import MemoryHistory

NOW = datetime(2026, 1, 2, tzinfo=UTC)
REPO = RepoHistory(1, "acme/train", 11, "words", Progress(), installation_id=7)


class Counted(MemoryHistory):
    """Repositories where people marked so many."""

    def __init__(self, **marks: tuple[int, int]) -> None:
        super().__init__()
        self.counts = marks
        for number, name in enumerate(marks, 1):
            self.begin(f"acme/{name}", "words", number, 7)

    def marked(self) -> list[Marked]:
        return [Marked(repo, *self.counts[repo.full_name.partition("/")[2]]) for repo in self.repos.values()]


@pytest.mark.parametrize(
    ("marks", "fitted", "wanted"),
    [
        (LEAST_MARKS - 1, 0, False),
        (LEAST_MARKS, 0, True),
        (LEAST_MARKS, LEAST_MARKS, False),
        (LEAST_MARKS + LEAST_NEW, LEAST_MARKS, True),
        (1_050, 1_000, False),
        (1_100, 1_000, True),
    ],
)
def test_it_takes_enough_marks_and_enough_new_ones(marks: int, fitted: int, wanted: bool) -> None:
    assert is_due(Marked(REPO, marks, fitted)) is wanted


def test_a_replay_is_queued_where_it_is_due_and_not_twice_in_a_row() -> None:
    store = Counted(many=(60, 0), few=(3, 0), same=(60, 60))
    assert [repo.full_name for repo in due(store)] == ["acme/many"]
    queued: list[NewDelivery] = []
    queue_due_replays(store, queued.append, NOW)
    [one] = queued
    assert (one.event, one.payload["repository"]["full_name"]) == ("replay", "acme/many")
    assert one.background and one.payload["installation"] == {"id": 7}


def test_what_a_replay_bears_out_is_in_use_and_taken_back_when_it_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = MemoryHistory()
    repo = store.begin("acme/train", "words", 11, 7)
    says: list[float | None] = [0.6]

    def proven(found: Sequence[Replayed], shipped: float) -> float | None:
        return says[-1]

    monkeypatch.setattr(thresholds, "proven_threshold", proven)
    assert fit_itself(store, repo, []) == replace(repo, threshold=0.6)
    says.append(None)
    assert fit_itself(store, repo, []).threshold is None
    store.save_threshold(repo.key, 0.4)
    assert fit_itself(store, repo, []).threshold == 0.4, "somebody had it fitted"
