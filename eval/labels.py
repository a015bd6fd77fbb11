"""How often the labels that heads set are those that people set, forward in time.

Dated issues: heads learned from the first half are tried on the next tenth, then heads learned from that, too, and
so on; or those opened from a day on, in five parts. Where no issue has a date, each fifth (by hash of the id) is tried
with heads learned from the other four.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from embeddings.encoder import Encoder
from eval.metrics import Estimate, wilson
from knowledge.errors import InputError
from knowledge.history.head_learner import LEAST_EXAMPLES, TARGET_PRECISION, learn
from knowledge.history.heads import Example, suggest
from knowledge.history.record import Post, Record, records_of
from knowledge.history.tracker import exported, in_order
from knowledge.history.words import traits_of
from knowledge.signatures import SignatureTable

FOLDS = 5
STEPS = 5
"""Parts of the newer half, each tried with heads of all that was before it."""
LEAST_SET = 10
"""Labels set in a replay before it says anything for switching a label on."""
IN_TIME = "Learned only from issues that were opened before."
UNDATED = "No dates, so no order in time: each fifth was tried with what was learned from the other four."
Tick = Callable[[str, int], None]
KnownAt = Callable[[datetime], Sequence[Example]]
"""From a moment to the issues that were there before, with what people had said of their labels by then."""


@dataclass(frozen=True, slots=True)
class Judged:
    """An issue, and what heads that never saw it set."""

    example: Example
    set: tuple[str, ...]
    """Likeliest first."""
    speaking: frozenset[str]
    """Labels whose heads were sure enough to speak at all."""


@dataclass(frozen=True, slots=True)
class LabelFigures:
    """How a label did; shares with Wilson's 95 % intervals."""

    label: str
    precision: Estimate
    """Of the issues on which it was set: people had set it, too."""
    recall: Estimate
    """Of those on which people set it: it was set."""
    silent: float
    """Share of all issues during which its head did not speak."""

    @property
    def worth_it(self) -> bool:
        """Whether it should be switched on."""
        right = self.precision.value
        return right is not None and right >= TARGET_PRECISION and self.precision.n >= LEAST_SET


@dataclass(frozen=True, slots=True)
class Figures:
    """How all labels of a repository did."""

    issues: int
    dated: bool
    labels: tuple[LabelFigures, ...]
    precision: Estimate
    """Of all labels that were set."""
    share: Estimate
    """Of the issues: at least one label was set."""


@dataclass(frozen=True, slots=True)
class Exported:
    """An issue of an export with its labels."""

    post: Post
    labels: tuple[str, ...]


def read_labelled(file: Path) -> dict[str, list[Exported]]:
    """The labelled issues of an export by repository ("owner/repo" of "owner/repo#12", else ""), in order.

    Raises InputError for a file that holds none, or what is no such record.
    """
    found: dict[str, dict[str, Exported]] = {}
    for line in exported(file):
        labels = line.record.get("labels")
        if labels is not None and not (
            isinstance(labels, list) and all(isinstance(name, str) for name in labels)
        ):
            raise InputError(
                f'{file.name}, line {line.number}: "labels" must be a list of names.',
                'Write ["bug", "module: x"].',
            )
        repository, hash, _ = line.post.id.rpartition("#")
        of = found.setdefault(repository if hash and "/" in repository else "", {})
        if labels:
            of[line.post.id] = Exported(line.post, tuple(dict.fromkeys(labels)))
    if not any(found.values()):
        raise InputError(
            f"{file.name} contains no issues with labels.",
            'Each line must look like: {"id": "7", "opened": ..., "title": ..., "body": ..., "labels": ["bug"]}',
        )
    return {
        name: [issues[post.id] for post in in_order([one.post for one in issues.values()])]
        for name, issues in found.items()
        if issues
    }


def examples_of(
    issues: Sequence[Exported], encoder: Encoder, tick: Tick = lambda what, n: None
) -> list[Example]:
    """The issues as heads see them, in the same order."""
    out = []
    records = records_of([one.post for one in issues], encoder, SignatureTable())
    for issue, record in zip(issues, records, strict=True):
        out.append(example_of(record, issue.labels))
        tick("reading issues", 1)
    return out


def example_of(record: Record, labels: Sequence[str]) -> Example:
    """An issue whose labels are all that is known of them."""
    traits = traits_of(record.title, record.body, record.small, record.vectors)
    return Example(record.id, record.opened, traits, frozenset(labels))


def forward(
    examples: Sequence[Example],
    before: Sequence[Example] | None = None,
    *,
    since: datetime | None = None,
    known_at: KnownAt | None = None,
) -> list[Judged]:
    """Try heads on issues that they did not learn from; those that are tried.

    `before`: the issues to learn from; None = the older ones of `examples` themselves. `since`: tried are those opened
    from then on; None = the newer half. `known_at`: without it, an issue counts with labels that were set later, too.
    """
    splits = _splits(examples, since, known_at) if before is None else [(before, examples)]
    return [
        Judged(
            one,
            tuple(told.head.label for told in suggest(heads, one.traits)),
            frozenset(head.label for family in heads for head in family.heads if head.speaks),
        )
        for learned, tried in splits
        for heads in [learn(learned)]
        for one in tried
    ]


def _splits(
    examples: Sequence[Example], since: datetime | None, known_at: KnownAt | None
) -> Iterator[tuple[Sequence[Example], Sequence[Example]]]:
    if is_dated(examples):
        first = len(examples) / 2
        if since is not None:
            first = next(
                (n for n, one in enumerate(examples) if one.opened and one.opened >= since), len(examples)
            )
        ends = np.linspace(first, len(examples), STEPS + 1).round().astype(int)
        for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            moment = next((one.opened for one in examples[start:end] if one.opened), None)
            learned = known_at(moment) if known_at and moment else examples[:start]
            yield learned, examples[start:end]
        return
    mixed = sorted(examples, key=lambda one: hashlib.sha256(one.id.encode()).digest())
    for fold in range(FOLDS):
        yield [one for n, one in enumerate(mixed) if n % FOLDS != fold], mixed[fold::FOLDS]


def is_dated(examples: Sequence[Example]) -> bool:
    """Whether the order of the issues is one in time."""
    return any(one.opened is not None for one in examples)


def figures(judged: Sequence[Judged], dated: bool) -> Figures:
    """Count; what nobody judged, or came with the report, counts for nothing."""
    set_right, set_all, wanted = Counter[str](), Counter[str](), Counter[str]()
    touched, speaking = 0, Counter[str]()
    for one in judged:
        speaking.update(one.speaking)
        example = one.example
        names = [name for name in one.set if example.tells(name) and name not in example.given]
        right = [name for name in names if name in example.labels]
        set_all.update(names)
        set_right.update(right)
        wanted.update(example.labels - example.given)
        touched += bool(one.set)
    told = {name for name, n in wanted.items() if n >= LEAST_EXAMPLES // STEPS} | set(set_all)
    rows = [
        LabelFigures(
            name,
            wilson(set_right[name], set_all[name]),
            wilson(set_right[name], wanted[name]),
            1 - speaking[name] / len(judged),
        )
        for name in sorted(told, key=lambda name: (-set_all[name], -wanted[name], name))
    ]
    return Figures(
        len(judged),
        dated,
        tuple(rows),
        wilson(sum(set_right.values()), sum(set_all.values())),
        wilson(touched, len(judged)),
    )


def table(found: Mapping[str, Figures]) -> str:
    """The figures of each repository as Markdown, and of all together."""
    lines = [
        IN_TIME if all(one.dated for one in found.values()) else UNDATED,
        "",
        "| | issues tried | precision of what is set | share of issues with a label set |",
        "|---|---|---|---|",
    ]
    for name, one in found.items():
        lines.append(f"| {name or 'all'} | {one.issues} | {one.precision} | {one.share} |")
    if len(found) > 1:
        every = list(found.values())
        lines.append(
            f"| together | {sum(one.issues for one in every)} | {_pooled([o.precision for o in every])} "
            f"| {_pooled([o.share for o in every])} |"
        )
    return "\n".join(lines) + "\n"


def _pooled(parts: Sequence[Estimate]) -> Estimate:
    return wilson(sum(round((one.value or 0) * one.n) for one in parts), sum(one.n for one in parts))


def by_label(found: Figures) -> list[str]:
    """A Markdown table, one row a label; those that were never set at the end."""
    rows = ["| label | set | precision | recall | silent | |", "|---|---|---|---|---|---|"]
    for one in found.labels:
        name = one.label.replace("|", "\\|")
        verdict = "switch on" if one.worth_it else ""
        rows.append(
            f"| {name} | {one.precision.n} | {one.precision} | {one.recall} | {one.silent:.0%} | {verdict} |"
        )
    return rows
