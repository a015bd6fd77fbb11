"""The threshold of a repository, fitted by itself to what people marked as the same failure there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.history.records import HistoryStore, Marked, RepoHistory
from eval.history import Replayed, own_threshold, proven_threshold
from knowledge.history.verifier import load_weights

LEAST_MARKS = 34
"""Of fewer, the newer 30 % hardly hold the ten matches that a threshold must prove itself on."""
LEAST_NEW = 10
"""Marks since the last time, before it is fitted again; or a tenth of all where that is more."""


def due(store: HistoryStore) -> list[RepoHistory]:
    """The repositories where people marked enough since the last time; a replay fits the threshold."""
    return [one.repo for one in store.marked() if is_due(one)]


def is_due(one: Marked) -> bool:
    """Whether there is enough to fit a threshold to, and enough of it is new."""
    return one.marks >= LEAST_MARKS and one.marks - one.fitted >= max(LEAST_NEW, one.fitted // 10)


Fit = Callable[[HistoryStore, RepoHistory, Sequence[Replayed]], RepoHistory]
"""Fits a repository's threshold to its replay and keeps it; gives the repository as it is then."""


def fit_to_marks(store: HistoryStore, repo: RepoHistory, replayed: Sequence[Replayed]) -> RepoHistory:
    """Keep the threshold that fits all marks, because somebody asked for it; the shipped one if there are too few."""
    store.save_threshold(repo.key, own_threshold(replayed))
    return store.find(repo.full_name, repo.repo_id) or repo


def fit_itself(store: HistoryStore, repo: RepoHistory, replayed: Sequence[Replayed]) -> RepoHistory:
    """Keep the threshold that a replay bears out, if any; the repository as it is now."""
    store.save_fitted(repo.key, proven_threshold(replayed, load_weights().threshold))
    return store.find(repo.full_name, repo.repo_id) or repo
