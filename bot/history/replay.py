"""A kept history, replayed forward in time: figures, and what would have been shown, to read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.history.records import HistoryStore, RepoHistory
from bot.history.search import name_of, own_component, why
from eval.history import Figures, Replayed, figures, own_threshold, replay
from eval.labels import IN_TIME, UNDATED, by_label, forward, is_dated
from eval.labels import figures as figures_of_labels
from knowledge.history.heads import LEAST_EXAMPLES, Example
from knowledge.history.tracker import groups, in_order
from knowledge.history.verifier import load_weights

LISTED = 100
"""Matches printed, the newest."""


def replayed(
    store: HistoryStore, repo: RepoHistory, said: Mapping[str, Mapping[str, float]] | None = None
) -> list[Replayed]:
    """All reports of the history, in the order in which they were opened.

    `said`: by issue and earlier issue what people voted; from 1 on they are the same, from -1 on they are not, whatever
    else marks them.
    """
    records = in_order([record for _, record in store.newer(repo.key, 0)])
    said = said or {}
    marks = {id: list(others) for id, others in store.marks(repo.key).items()}
    for id, votes in said.items():
        agreed = [other for other, count in votes.items() if count >= 1]
        marks[id] = [o for o in marks.get(id, []) if votes.get(o, 0) > -1] + agreed
    found = replay(records, groups([record.id for record in records], marks), load_weights())
    return [_judged(one, said.get(one.record.id, {})) for one in found]


def _judged(one: Replayed, votes: Mapping[str, float]) -> Replayed:
    """The report with what people said of single matches."""
    pairs = zip(one.near, one.marked, strict=True)
    return replace(one, marked=tuple(right and votes.get(near.record.id, 0) > -1 for near, right in pairs))


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


def labels_told(repo: RepoHistory, examples: Sequence[Example]) -> str:
    """How its own labels would have been set, and what to switch on, as Markdown."""
    lines = [f"# {repo.full_name}: labels that would have been set", ""]
    judged = forward(examples)
    found = figures_of_labels(judged, is_dated(examples))
    if not found.labels:
        told = f"{len(examples)} issues with labels that people set; a label needs {LEAST_EXAMPLES}. Nothing to learn."
        return "\n".join([*lines, told]) + "\n"
    came = sum(bool(one.given) for one in examples)
    lines += [
        f"{len(examples)} issues with labels that people set, {found.issues} of them tried. "
        + (IN_TIME if found.dated else UNDATED),
        f"Of the labels set, people had set {found.precision}. Share of the issues with a label set: {found.share}.",
        f"{came} came with a label of their template, which counts for nothing." if came else "",
        "",
        *by_label(found),
        "",
    ]
    good = [one.label for one in found.labels if one.worth_it]
    if not good:
        return "\n".join([*lines, "No label is set rightly often enough to be switched on."]) + "\n"
    rules = json.dumps(good, ensure_ascii=False)
    lines += ["To switch these on, in `.github/distriage.yml`:", "", "```yaml", "mode: label"]
    return "\n".join([*lines, "own_labels:", f"  only: {rules}", "```"]) + "\n"


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
