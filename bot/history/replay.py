"""A kept history, replayed forward in time: figures, and what would have been shown, to read."""

from __future__ import annotations

from bot.history.explain import own_component, why
from bot.history.records import HistoryStore, RepoHistory
from bot.history.search import name_of
from eval.replay import Figures, Replayed, figures, replay
from knowledge.history.tracker import groups, in_order
from knowledge.history.verifier import load_weights

LISTED = 100
"""Matches printed, the newest."""


def replayed(store: HistoryStore, repo: RepoHistory) -> list[Replayed]:
    """All reports of the history, in the order in which they were opened."""
    records = in_order([record for _, record in store.newer(repo.key, 0)])
    same = groups([record.id for record in records], store.marks(repo.key))
    return replay(records, same, load_weights())


def told(repo: RepoHistory, found: list[Replayed]) -> str:
    """The replay as Markdown."""
    numbers = figures(found)
    lines = [f"# {repo.full_name}: what would have been shown", "", *_summary(numbers), ""]
    shown = [(one, near, right) for one in found for near, right in zip(one.shown, one.marked, strict=True)]
    component = own_component(repo.full_name)
    for one, near, right in reversed(shown[-LISTED:]):
        here, there = name_of(repo.full_name, one.record.id), name_of(repo.full_name, near.record.id)
        day = f"{one.record.opened:%Y-%m-%d} " if one.record.opened else ""
        mark = "marked by people" if right else "not marked"
        lines.append(f"- {day}{here} -> {there} ({mark}): {', '.join(why(near.shared, component))}")
    return "\n".join(lines) + "\n"


def _summary(numbers: Figures) -> list[str]:
    return [
        f"{numbers.reports} reports; {numbers.with_earlier} have an earlier one that people marked as the same.",
        f"Something would have been shown below {numbers.commented} of them.",
        f"Of what would have been shown, people marked {numbers.precision} as the same (a lower bound: many are "
        "never marked).",
        f"Of the reports with an earlier one, {numbers.coverage} would have been shown it.",
    ]
