"""How much `comment_on` lets through on the panel's real reports: who gets a comment at each level, and how long it is.

    python -m tests.bot.github.panel [--shared DIR]

Offline and without an LLM; the reports are not part of the project. What is counted is `bot simulate`'s comment, with
a configuration that says nothing but the level.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, get_args

from bot.github.offline import Simulation, simulate
from bot.ports import Core
from bot.render.comment import Level
from bot.runtime.core import KnownEngine, NamedCore
from knowledge.engine import Knowledge, load_knowledge
from knowledge.report import Report
from knowledge.triage import Triage

SHARED = Path(__file__).parents[3] / ".." / "shared"


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """What one level of `comment_on` leads to."""

    level: str
    reports: int
    reasons: Counter[str]
    """Why something is posted: how often."""
    visible: float
    """Median length of a comment before its first fold, in characters; 0 where there is none."""
    whole: float
    """Median length of all of it."""

    @property
    def posted(self) -> int:
        """Reports that get a comment."""
        return self.reasons.total()

    def __str__(self) -> str:
        """One row of the table."""
        why = ", ".join(f"{reason} {n}" for reason, n in self.reasons.most_common())
        share = f"{self.posted} of {self.reports} ({self.posted / max(self.reports, 1):.0%})"
        return f"| `{self.level}` | {share} | {self.visible:.0f} | {self.whole:.0f} | {why} |"


class _Remembering(KnownEngine):
    """The engine; a report that comes again is not triaged again."""

    def __init__(self, knowledge: Knowledge) -> None:
        super().__init__(knowledge)
        self._known: dict[str, Triage] = {}

    def triage(self, report: Report) -> Triage:
        if report.id not in self._known:
            self._known[report.id] = super().triage(report)
        return self._known[report.id]


def core_of(knowledge: Knowledge) -> Core:
    """The engine as the GitHub side sees it."""
    return NamedCore(_Remembering(knowledge), knowledge.taxonomy)


def panel(shared: Path) -> list[dict[str, Any]]:
    """The panel's reports, as GitHub's API returns an issue."""
    ids = set(json.loads((shared / "panel" / "ids.json").read_text("utf-8")))
    rows = map(json.loads, (shared / "real" / "labelled.jsonl").read_text("utf-8").splitlines())
    return [issue(row) for row in rows if row["id"] in ids]


def issue(row: dict[str, Any]) -> dict[str, Any]:
    """A record as an issue that somebody without a role just opened."""
    repository, _, number = row["id"].partition("#")
    return {
        "number": int(number),
        "title": row["title"],
        "body": row["body"],
        "state": "open",
        "user": {"login": "someone", "type": "User"},
        "author_association": "NONE",
        "labels": [],
        "created_at": f"{row.get('opened') or '1970-01-01'}T00:00:00Z",
        "repository_url": f"https://api.github.com/repos/{repository}",
    }


def figures_of(level: str, issues: Sequence[dict[str, Any]], core: Core) -> LevelFigures:
    """Simulate every issue at a level."""
    found = [simulate(one, core, f"mode: comment\ncomment_on: {level}\n") for one in issues]
    return summed_up(level, found)


def summed_up(level: str, found: Iterable[Simulation]) -> LevelFigures:
    """Count simulations of one level."""
    found = list(found)
    posted = [one for one in found if one.comment]
    return LevelFigures(
        level=level,
        reports=len(found),
        reasons=Counter(one.reason for one in posted),
        visible=median([len(one.comment.partition("<details>")[0].strip()) for one in posted] or [0]),
        whole=median([len(one.comment) for one in posted] or [0]),
    )


def main() -> None:
    """Print the table of docs/github.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder with panel/ and real/")
    parser.add_argument("--cache", type=Path, default=Path("build/data/cache"))
    args = parser.parse_args()
    core, issues = core_of(load_knowledge(None, args.cache)), panel(args.shared)
    print("| level | comments on | before the folds | in all | why |\n|---|---|---|---|---|")
    for level in get_args(Level):
        print(figures_of(level, issues, core))


if __name__ == "__main__":
    main()
