"""Splits that cannot flatter: no group stands on both sides of one."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from eval.benchmark import EvalCase
from knowledge.errors import UserError
from knowledge.judging.axes import labels_of

Split = Literal["cv", "framework", "time"]
FOLDS = 5
LATEST = 0.3
"""Share of a repository's scored cases that counts as its future in the split by time."""
LEAST = 5
"""Frameworks and repositories with fewer scored cases are not left out on their own: one case says nothing."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Positions of the records to learn from and of those to score."""

    name: str
    train: tuple[int, ...]
    test: tuple[int, ...]


def split(cases: Sequence[EvalCase], how: Split, folds: int = FOLDS) -> list[Fold]:
    """The folds of a split. UserError when the records do not allow one."""
    makers = {
        "cv": lambda: _cross(cases, folds),
        "framework": lambda: _framework(cases),
        "time": lambda: _time(cases),
    }
    made = [fold for fold in makers[how]() if fold.test and fold.train]
    if not made:
        raise UserError(f"The records cannot be split by {how}.", "Use --splits cv, or add records.")
    return made


def held_out(cases: Sequence[EvalCase]) -> Fold:
    """One fold: all that is scored against all that is not."""
    test = tuple(at for at, case in enumerate(cases) if case.scored)
    return Fold("held out", tuple(at for at, case in enumerate(cases) if not case.scored), test)


def _cross(cases: Sequence[EvalCase], folds: int) -> list[Fold]:
    """Groups dealt out by label, so that every fold has its share of each symptom; the same on every machine."""
    label: dict[str, str] = {}
    for case in cases:
        if case.scored:
            labels = case.prepared.record.labels
            first = (*labels_of(labels, "symptom"), labels.topic or "", labels.type)[0]
            label.setdefault(case.group, f"{labels.type} {first}")
    order = sorted(label, key=lambda group: (label[group], hashlib.sha256(group.encode()).digest()))
    fold_of = {group: at % folds for at, group in enumerate(order)}
    return [
        _without(cases, f"fold {number + 1}", {g for g, f in fold_of.items() if f == number})
        for number in range(min(folds, len(order)))
    ]


def _framework(cases: Sequence[EvalCase]) -> list[Fold]:
    frameworks = sorted({case.framework for case in cases if case.scored and case.framework})
    made = []
    for framework in frameworks:
        test = tuple(at for at, case in enumerate(cases) if case.scored and case.framework == framework)
        if len(test) < LEAST:
            continue
        groups = {cases[at].group for at in test}
        train = tuple(
            at for at, case in enumerate(cases) if case.framework != framework and case.group not in groups
        )
        made.append(Fold(f"without {framework}", train, test))
    return made


def _time(cases: Sequence[EvalCase]) -> list[Fold]:
    """One fold a repository: its latest cases against its earlier ones and all other repositories.

    Order is by opening date where every case of the repository has one, else by issue number, which grows with
    time. Other repositories' cases have no common clock with it; those dated after the cut are left out.
    """
    of: dict[str, list[int]] = defaultdict(list)
    for at, case in enumerate(cases):
        repository, _, number = case.prepared.record.report.id.lower().rpartition("#")
        if number.isdigit() and repository != "composed":
            of[repository].append(at)
    made = []
    for repository, members in sorted(of.items()):
        scored = [at for at in members if cases[at].scored]
        if len(scored) < LEAST:
            continue
        dated = all(cases[at].opened for at in members)
        key = {at: _moment(cases[at], dated) for at in members}
        ordered = sorted(scored, key=key.__getitem__)
        cut = ordered[-max(1, round(LATEST * len(ordered)))]
        test = tuple(at for at in scored if key[at] >= key[cut])
        later = {at for at in members if key[at] >= key[cut]}
        if dated:
            later |= {at for at, c in enumerate(cases) if c.opened and c.opened >= str(cases[cut].opened)}
        groups = {cases[at].group for at in later}
        train = tuple(at for at, c in enumerate(cases) if at not in later and c.group not in groups)
        made.append(Fold(f"{repository} from {cases[cut].opened if dated else key[cut][1]}", train, test))
    return made


def _moment(case: EvalCase, dated: bool) -> tuple[str, int]:
    number = int(case.prepared.record.report.id.rpartition("#")[2])
    return (str(case.opened), number) if dated else ("", number)


def _without(cases: Sequence[EvalCase], name: str, groups: set[str]) -> Fold:
    test = tuple(at for at, case in enumerate(cases) if case.scored and case.group in groups)
    return Fold(name, tuple(at for at, case in enumerate(cases) if case.group not in groups), test)
