"""A kept history, replayed forward in time: figures, and what would have been shown, to read."""

from __future__ import annotations

from bot.history.explain import own_component, why
from bot.history.records import HistoryStore, RepoHistory
from bot.history.search import name_of
from eval.replay import Figures, Replayed, figures, own_threshold, replay
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
    """The replay as Markdown: figures at the shipped threshold and at one of its own, then what is shown now."""
    shipped, own = load_weights().threshold, own_threshold(found)
    old, new = found[: len(found) * 7 // 10], found[len(found) * 7 // 10 :]
    before = own_threshold(old)
    rows = [_row(f"shipped, P >= {shipped:.2f}", figures(found, shipped))]
    if own is not None:
        rows.append(_row(f"fitted to all its marks, P >= {own:.2f}", figures(found, own)))
    if before is not None:
        rows.append(
            _row(f"fitted to the older 70 %, P >= {before:.2f}, on the newer 30 %", figures(new, before))
        )
    numbers = figures(found, shipped)
    lines = [
        f"# {repo.full_name}: what would have been shown",
        "",
        f"{numbers.reports} reports; {numbers.with_earlier} have an earlier one that people marked as the same. "
        "Many are never marked, so the share marked is a lower bound of precision.",
        "",
        "| threshold | reports with something shown | matches that people marked | marked reports reached |",
        "|---|---|---|---|",
        *rows,
        "",
        "Too few marks for a threshold of its own."
        if own is None
        else "`--fit` uses the fitted one from now on.",
        "",
        *_listed(repo, found, repo.threshold if repo.threshold is not None else shipped),
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, numbers: Figures) -> str:
    return f"| {name} | {numbers.commented} | {numbers.precision} | {numbers.coverage} |"


def _listed(repo: RepoHistory, found: list[Replayed], threshold: float) -> list[str]:
    component = own_component(repo.full_name)
    lines = []
    for one in found:
        for near, right in one.shown(threshold):
            here, there = (name_of(repo.full_name, id) for id in (one.record.id, near.record.id))
            day = f"{one.record.opened:%Y-%m-%d} " if one.record.opened else ""
            mark = "marked by people" if right else "not marked"
            lines.append(f"- {day}{here} -> {there} ({mark}): {', '.join(why(near.shared, component))}")
    return lines[: -LISTED - 1 : -1]
