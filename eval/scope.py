"""How well the gate before the judge tells reports of the field from other posts.

    python -m eval.scope --shared DIR [--cache DIR]

Each post is scored by a gate that never saw its group: a foreign repository, a kind of our own posts, an issue. Text
alone counts; the repository's name is taken away. Of what passes, the shipped judge says whether anything would be
claimed. Of reports of the field it is counted how many faults are turned away, by a border set without them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from embeddings.encoder import OnnxEncoder
from eval.session import CachingEncoder
from knowledge.engine import Knowledge, conclude, examine, load_knowledge
from knowledge.judging.scope import scope_by, without_foreign_prose
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from knowledge.training.items import Prepared, prepare
from knowledge.training.records import real_records, shipped_records
from knowledge.training.train import (
    OTHER_REPOSITORIES,
    REAL,
    ScopeItem,
    border,
    item_of,
    learn_scope,
    other_field_records,
    unlabelled_records,
)
from knowledge.triage import Triage

FOLDS = 5
Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scored:
    """A post with its held-out score; None where a rule closes the gate before the head is asked."""

    post: Prepared
    item: ScopeItem | None
    score: float | None

    @property
    def repository(self) -> str:
        """What stands before the number in its id."""
        return self.post.record.report.id.rpartition("#")[0]


def score(prepared: Sequence[Prepared]) -> list[Scored]:
    """Held-out scores of all posts that the gate learns from."""
    items = [item_of(post) for post in prepared]
    _, held_out = learn_scope([item for item in items if item], {})
    scores = iter(held_out.tolist())
    return [
        Scored(post, item, next(scores) if item else None) for post, item in zip(prepared, items, strict=True)
    ]


def borders(scored: Sequence[Scored]) -> dict[int, float]:
    """For each fold of issues the border that the faults of the other folds set; -1: that of all."""
    kept = [one for one in scored if one.item is not None and one.score is not None]
    out = {}
    for fold in (*range(FOLDS), -1):
        others = [one for one in kept if one.item and fold_of(one.item.group) != fold]
        out[fold] = border(
            [one.item for one in others if one.item], np.array([one.score for one in others], float)
        )
    return out


def fold_of(group: str) -> int:
    """The fold of an issue."""
    return crc32(group.encode()) % FOLDS


def passes(one: Scored, border_at: float, *, known: bool = False) -> bool:
    """Whether the gate opens for a post; `known`: as a report of a repository that is known to be of the field."""
    heard = without_foreign_prose(one.post.reading)
    silent = heard is not one.post.reading
    return scope_by(one.score or 0.0, border_at, heard, silent=silent, known=known) == "ours"


def claims(triage: Triage) -> bool:
    """Whether a triage claims anything beyond the type."""
    axes = (triage.stage, triage.symptom, triage.cause, triage.fix)
    return any(axis.answer for axis in axes) or triage.distributed.answer is not None


def claims_if_open(one: Scored, knowledge: Knowledge) -> bool:
    """Whether the judge as it ships claims anything of a post without its repository's name."""
    report = one.post.record.report
    bare = Report("post", report.title, report.body)
    return claims(conclude(replace(examine(bare, knowledge), scope="ours"), knowledge))


def foreign_rows(
    scored: Sequence[Scored], at: float, knowledge: Knowledge
) -> list[tuple[str, int, int, int]]:
    """Of each foreign repository and each kind of our posts: how many, how many pass, and get a claim."""
    groups: dict[str, list[Scored]] = {}
    for one in scored:
        if one.post.record.source == "other_field" or one.repository in OTHER_REPOSITORIES:
            groups.setdefault(one.repository, []).append(one)
    rows = []
    for name, posts in groups.items():
        through = [one for one in posts if passes(one, at)]
        rows.append((name, len(posts), len(through), sum(claims_if_open(one, knowledge) for one in through)))
    return rows


def own_rows(scored: Sequence[Scored], at: dict[int, float]) -> list[tuple[str, int, int, int]]:
    """Of each source of the field's faults: how many, how many are turned away by text alone, and as it ships."""
    groups: dict[str, list[Scored]] = {}
    for one in scored:
        if one.post.record.source in REAL and one.post.record.labels.type == "fault":
            groups.setdefault(one.post.record.source, []).append(one)
    rows = []
    for name, posts in groups.items():
        cut = [at[fold_of(one.post.record.group)] for one in posts]
        away = sum(not passes(one, c) for one, c in zip(posts, cut, strict=True))
        ships = sum(not passes(one, c, known=True) for one, c in zip(posts, cut, strict=True))
        rows.append((name, len(posts), away, ships))
    return rows


def rule_rows(knowledge: Knowledge) -> list[tuple[str, int, int]]:
    """Of our posts with too little text or in other languages: how many, and how many get the right scope."""
    rows: dict[str, list[bool]] = {}
    for record in other_field_records():
        if record.source != "other_field":
            rows.setdefault(record.source, []).append(
                examine(record.report, knowledge).scope == record.source
            )
    return [(name, len(right), sum(right)) for name, right in rows.items()]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure the gate before the judge.")
    parser.add_argument(
        "--shared", type=Path, required=True, help="folder with real/ (texts that are not shipped)"
    )
    parser.add_argument("--cache", type=Path, default=Path("build/data/cache"))
    args = parser.parse_args()
    records = [
        *shipped_records(),
        *real_records(args.shared),
        *other_field_records(),
        *unlabelled_records(args.shared),
    ]
    with Progress() as progress:
        task = progress.add_task("reading and embedding", total=len(records))
        encoder = CachingEncoder(OnnxEncoder(None, args.cache / "model"), args.cache / "eval")
        prepared = prepare(records, SignatureTable(), encoder, lambda n: progress.advance(task, n))
        encoder.save()
    scored = score(prepared)
    at = borders(scored)
    knowledge = load_knowledge(None, args.cache)
    console = Console()
    _show(
        console,
        ("other fields", "posts", "pass the gate", "get a claim"),
        foreign_rows(scored, at[-1], knowledge),
    )
    _show(console, ("faults of the field", "posts", "turned away", "as it ships"), own_rows(scored, at))
    _show(console, ("no text, other languages", "posts", "told"), rule_rows(knowledge))


def _show(console: Console, head: Sequence[str], rows: Sequence[tuple[str, *tuple[int, ...]]]) -> None:
    table = Table(*head, box=None)
    for name, *counts in rows:
        table.add_row(name, *map(str, counts))
    totals = [sum(column) for column in zip(*(row[1:] for row in rows), strict=True)]
    shares = [f"{n} ({n / totals[0]:.1%})" for n in totals[1:]]
    table.add_row("all", str(totals[0]), *shares, style="bold")
    console.print(table)


if __name__ == "__main__":
    main()
