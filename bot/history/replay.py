"""A kept history, replayed forward in time: figures, what would have been shown, and the job that computes both.

`python -m bot.history.replay KEY` is that job's process: it holds all records at once and computes for minutes, which a
worker's other jobs must not feel.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from bot.db.connect import sync_pool
from bot.history.explain import why
from bot.history.label_store import LabelTables
from bot.history.labels import examples_of, verdicts
from bot.history.records import HistoryStore, RepoHistory
from bot.history.search import name_of
from bot.history.store import PostgresHistory
from bot.history.thresholds import fit_itself
from bot.settings import load_settings
from eval.history import Figures, Replayed, figures, older_and_newer, own_threshold, replay
from eval.labels import IN_TIME, UNDATED, by_label, forward, is_dated
from eval.labels import Figures as LabelsFound
from eval.labels import figures as figures_of_labels
from eval.metrics import Estimate
from knowledge.errors import DistriageError
from knowledge.evidence.facts_table import component_of_tracker
from knowledge.history.head_learner import LEAST_EXAMPLES
from knowledge.history.heads import Example
from knowledge.history.tracker import groups, in_order
from knowledge.history.verifier import load_weights

LISTED = 100
"""Matches listed, the newest."""
MOST = 10_000
"""Reports that the job replays, the newest: about 100 MB and three minutes of CPU time."""
MONTHS = 24
TIMEOUT = 600.0
"""Seconds after which the job is ended; the queue takes one of fifteen minutes for lost."""
_NICENESS = 10
_STEPS = tuple(n / 20 for n in range(1, 20))


def replayed(
    store: HistoryStore,
    repo: RepoHistory,
    said: Mapping[str, Mapping[str, float]] | None = None,
    most: int = 0,
) -> list[Replayed]:
    """All reports of the history, or the newest `most`, in the order in which they were opened.

    `said`: by issue and earlier issue what people voted; from 1 on they are the same, from -1 on they are not, whatever
    else marks them.
    """
    records = in_order([record for _, record in store.newer(repo.key, 0)])[-most:]
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


@dataclass(frozen=True, slots=True)
class Row:
    """What is shown at one threshold; shares with their intervals, in words."""

    name: str
    commented: int
    precision: str
    coverage: str


@dataclass(frozen=True, slots=True)
class Month:
    """A month's reports, and those of them below which something would have been shown."""

    month: str
    reports: int
    marked: int
    """With a match that people marked as the same."""
    unmarked: int
    """With matches that nobody marked."""


@dataclass(frozen=True, slots=True)
class Point:
    """Shares at a threshold, as bars between `low` and `high`; None = nothing is shown there."""

    threshold: float
    commented: int
    marked: float | None
    low: float | None
    high: float | None
    coverage: float | None


@dataclass(frozen=True, slots=True)
class Match:
    """A match that would have been shown."""

    day: str
    here: str
    there: str
    marked: bool
    why: str


@dataclass(frozen=True, slots=True)
class LabelRow:
    """How a label did; shares with their intervals, in words."""

    label: str
    set: int
    precision: str
    recall: str
    silent: str
    worth_it: bool
    """Whether it should be switched on."""


@dataclass(frozen=True, slots=True)
class LabelSummary:
    """How a repository's own labels would have been set."""

    issues: int
    """With labels that people set."""
    tried: int
    dated: bool
    from_template: int
    """Issues that came with a label."""
    precision: str
    share: str
    rows: list[LabelRow]

    @property
    def sentences(self) -> list[str]:
        """What stands above the table."""
        known = f"{self.issues} issues with labels that people set"
        if not self.rows:
            return [f"{known}; a label needs {LEAST_EXAMPLES}. Nothing to learn."]
        came = [f"{self.from_template} came with a label of their template, which counts for nothing."]
        return [
            f"{known}, {self.tried} of them tried. {IN_TIME if self.dated else UNDATED}",
            f"Of the labels set, people had set {self.precision}. Share of the issues with a label set: {self.share}.",
            *(came if self.from_template else []),
        ]

    @property
    def config(self) -> str:
        """What to write into `.github/distriage.yml`; "" where no label is worth it."""
        good = [row.label for row in self.rows if row.worth_it]
        only = json.dumps(good, ensure_ascii=False)
        return f"mode: label\nown_labels:\n  only: {only}" if good else ""


@dataclass(frozen=True, slots=True)
class Summary:
    """A replay as the page and the command show it."""

    name: str
    reports: int
    with_earlier: int
    shipped: float
    now: float
    """The threshold that is in use."""
    own: float | None
    """One fitted to all marks; None = too few marks."""
    rows: list[Row]
    months: list[Month]
    points: list[Point]
    matches: list[Match]
    labels: LabelSummary | None = None

    @classmethod
    def of_json(cls, value: dict[str, Any]) -> Summary:
        """What `asdict` made of one."""
        parts = {"rows": Row, "months": Month, "points": Point, "matches": Match}
        made = {name: [kind(**one) for one in value[name]] for name, kind in parts.items()}
        labels = value.get("labels")
        if labels:
            labels = LabelSummary(**{**labels, "rows": [LabelRow(**row) for row in labels["rows"]]})
        return cls(**{**value, **made, "labels": labels})


def summary(repo: RepoHistory, found: list[Replayed], labels: LabelSummary | None = None) -> Summary:
    """Figures at the shipped threshold and at one of its own, over the months, and what is shown now."""
    shipped, own = load_weights().threshold, own_threshold(found)
    old, new = older_and_newer(found)
    rows = [_row(f"shipped, P >= {shipped:.2f}", figures(found, shipped))]
    if own is not None:
        rows.append(_row(f"fitted to all its marks, P >= {own:.2f}", figures(found, own)))
    if (before := own_threshold(old)) is not None:
        name = f"fitted to the older 70 %, P >= {before:.2f}, on the newer 30 %"
        rows.append(_row(name, figures(new, before)))
    now = repo.threshold if repo.threshold is not None else shipped
    numbers = figures(found, shipped)
    return Summary(
        repo.full_name,
        numbers.reports,
        numbers.with_earlier,
        shipped,
        now,
        own,
        rows,
        _months(found, now),
        [_point(step, figures(found, step)) for step in _STEPS],
        _matches(repo, found, now),
        labels,
    )


def told(repo: RepoHistory, found: list[Replayed]) -> str:
    """The replay as Markdown."""
    made = summary(repo, found)
    lines = [
        f"# {made.name}: what would have been shown",
        "",
        f"{made.reports} reports; {made.with_earlier} have an earlier one that people marked as the same. "
        "Many are never marked, so the share marked is a lower bound of precision.",
        "",
        "| threshold | reports with something shown | matches that people marked | marked reports reached |",
        "|---|---|---|---|",
        *(f"| {row.name} | {row.commented} | {row.precision} | {row.coverage} |" for row in made.rows),
        "",
        "Too few marks for a threshold of its own."
        if made.own is None
        else "`--fit` uses the fitted one from now on.",
        "",
        *(
            f"- {f'{one.day} ' if one.day else ''}{one.here} -> {one.there} "
            f"({'marked by people' if one.marked else 'not marked'}): {one.why}"
            for one in made.matches
        ),
    ]
    return "\n".join(lines) + "\n"


def labels_summary(examples: Sequence[Example]) -> LabelSummary:
    """How the repository's own labels would have been set, had they been learned before each issue."""
    return _summed(examples, _label_figures(examples))


def labels_told(repo: RepoHistory, examples: Sequence[Example]) -> str:
    """How its own labels would have been set, and what to switch on, as Markdown."""
    found = _label_figures(examples)
    made = _summed(examples, found)
    lines = [f"# {repo.full_name}: labels that would have been set", "", *made.sentences]
    if made.rows:
        lines += ["", *by_label(found), ""]
        if made.config:
            lines += ["To switch these on, in `.github/distriage.yml`:", "", "```yaml", made.config, "```"]
        else:
            lines.append("No label is set rightly often enough to be switched on.")
    return "\n".join(lines) + "\n"


def _label_figures(examples: Sequence[Example]) -> LabelsFound:
    return figures_of_labels(forward(examples), is_dated(examples))


def _summed(examples: Sequence[Example], found: LabelsFound) -> LabelSummary:
    return LabelSummary(
        issues=len(examples),
        tried=found.issues,
        dated=found.dated,
        from_template=sum(bool(one.given) for one in examples),
        precision=str(found.precision),
        share=str(found.share),
        rows=[
            LabelRow(
                label=one.label,
                set=one.precision.n,
                precision=str(one.precision),
                recall=str(one.recall),
                silent=f"{one.silent:.0%}",
                worth_it=one.worth_it,
            )
            for one in found.labels
        ],
    )


def _row(name: str, numbers: Figures) -> Row:
    return Row(name, numbers.commented, str(numbers.precision), str(numbers.coverage))


def _point(threshold: float, numbers: Figures) -> Point:
    right: Estimate = numbers.precision
    return Point(threshold, numbers.commented, right.value, right.low, right.high, numbers.coverage.value)


def _months(found: Sequence[Replayed], threshold: float) -> list[Month]:
    counts: dict[str, list[int]] = {}
    for one in found:
        if one.record.opened is None:
            continue
        count = counts.setdefault(f"{one.record.opened:%Y-%m}", [0, 0, 0])
        shown = one.shown(threshold)
        count[0] += 1
        if shown:
            count[1 if any(right for _, right in shown) else 2] += 1
    return [Month(month, *count) for month, count in sorted(counts.items())][-MONTHS:]


def _matches(repo: RepoHistory, found: Sequence[Replayed], threshold: float) -> list[Match]:
    component = component_of_tracker(repo.full_name)
    matches = [
        Match(
            f"{one.record.opened:%Y-%m-%d}" if one.record.opened else "",
            name_of(repo.full_name, one.record.id),
            name_of(repo.full_name, near.record.id),
            right,
            ", ".join(why(near.shared, component)),
        )
        for one in found
        for near, right in one.shown(threshold)
    ]
    return matches[: -LISTED - 1 : -1]


class ReplayFailed(DistriageError):
    """The job's process died, or took too long."""


class ReplayProcess:
    """Has replays computed and kept, each by a process of its own on the database `url`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()

    def __call__(self, repo: RepoHistory) -> None:
        """Compute and keep one. Raises `ReplayFailed`."""
        own = {"DISTRIAGE_DATABASE_URL": self._url, "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", "bot.history.replay", str(repo.key)],
            stdin=subprocess.DEVNULL,
            process_group=0,
            env=os.environ | own,
        )
        with self._lock:
            self._running.add(process)
        try:
            status = process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            raise ReplayFailed(f"the replay took more than {TIMEOUT:.0f} s") from None
        finally:
            process.kill()
            process.wait()
            with self._lock:
                self._running.discard(process)
        if status:
            raise ReplayFailed(f"the replay ended with status {status}")

    def close(self) -> None:
        """End what runs."""
        with self._lock:
            for process in self._running:
                process.kill()


def keep_replay(url: str, key: int) -> None:
    """Compute the replay of a history and keep it; one that was forgotten meanwhile is none."""
    with sync_pool(url, 1) as pool:
        store = PostgresHistory(pool)
        repo = store.by_key(key)
        if repo is not None:
            tables = LabelTables(pool)
            found = replayed(store, repo, verdicts(tables.votes(repo.key, "same")), MOST)
            repo = fit_itself(store, repo, found)
            made = summary(repo, found, labels_summary(examples_of(tables.labelled(repo.key))))
            store.save_replay(key, datetime.now(UTC), asdict(made))


def main() -> None:
    """The job's process."""
    os.nice(_NICENESS)
    url = load_settings().database_url
    assert url is not None
    keep_replay(url.get_secret_value(), int(sys.argv[1]))


if __name__ == "__main__":
    main()
