"""Predictions of one axis as arrays: what every metric is computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from eval.predictions import CasePrediction, Predictions

UNRANKED = 10_000
"""The place of a case whose labels are not ranked at all: behind every place that counts."""
Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Scored:
    """n cases that have a label on the axis and a prediction for it; C classes.

    A hit on any of a case's labels counts. `unanswered`: labelled cases for which the system gave nothing;
    they are left out here, and told.
    """

    axis: str
    cases: tuple[CasePrediction, ...]
    unanswered: int
    classes: tuple[str, ...]
    truth: Flags
    """(n, C): the class is among the case's labels."""
    predicted: npt.NDArray[np.int64]
    """(n,): position of the most probable class."""
    confidence: Array
    """(n,): its probability."""
    place: npt.NDArray[np.int64]
    """(n,): how many ids are ranked before the first right one; UNRANKED where none is."""
    answered: Flags
    """(n,): something is claimed."""
    answer_right: Flags
    set_size: npt.NDArray[np.int64]
    """(n,): size of the answer set; 0 = none given."""
    set_right: Flags
    group: npt.NDArray[np.int64]
    """(n,): number of the case's group; groups are resampled whole."""

    def __len__(self) -> int:
        """Number of cases."""
        return len(self.cases)

    @cached_property
    def hit1(self) -> Flags:
        """(n,): the most probable id is right."""
        return np.asarray(self.place < 1)

    @cached_property
    def hit3(self) -> Flags:
        """(n,): a right id is among the three most probable."""
        return np.asarray(self.place < 3)


def scored(predictions: Predictions, axis: str) -> Scored:
    """The cases of `predictions` that count on an axis; zero of them when none is labelled."""
    labelled = [case for case in predictions.cases if case.labels.get(axis)]
    cases = [case for case in labelled if case.axes.get(axis) and case.axes[axis].ranking]
    classes = _classes(cases, axis)
    number = {id: at for at, id in enumerate(classes)}
    opinions = [case.axes[axis] for case in cases]
    labels = [set(case.labels[axis]) for case in cases]
    truth = np.zeros((len(cases), len(classes)), bool)
    for row, ids in enumerate(labels):
        truth[row, [number[id] for id in ids]] = True
    groups = {name: at for at, name in enumerate(dict.fromkeys(case.group for case in cases))}
    return Scored(
        axis=axis,
        cases=tuple(cases),
        unanswered=len(labelled) - len(cases),
        classes=classes,
        truth=truth,
        predicted=np.array([number[o.ranking[0][0]] for o in opinions], np.int64),
        confidence=np.array([o.ranking[0][1] for o in opinions], float),
        place=np.array([_place(o.ranking, ids) for o, ids in zip(opinions, labels, strict=True)], np.int64),
        answered=np.array([bool(o.answer) for o in opinions], bool),
        answer_right=np.array(
            [bool(ids & {*o.answer}) for o, ids in zip(opinions, labels, strict=True)], bool
        ),
        set_size=np.array([len(o.answer_set) for o in opinions], np.int64),
        set_right=np.array(
            [bool(ids & {*o.answer_set}) for o, ids in zip(opinions, labels, strict=True)], bool
        ),
        group=np.array([groups[case.group] for case in cases], np.int64),
    )


def _classes(cases: Sequence[CasePrediction], axis: str) -> tuple[str, ...]:
    """The ids that occur, in the order of a natural reading ("D.1.2" before "D.1.10")."""
    seen = {id for case in cases for id in case.labels[axis]} | {
        id for case in cases for id, _ in case.axes[axis].ranking
    }
    return tuple(sorted(seen, key=_natural))


def _natural(id: str) -> list[tuple[int, int, str]]:
    """Numbers by size, words before them, "other" behind all."""
    return [
        (1, int(part), "") if part.isdigit() else (2 if part == "other" else 0, 0, part)
        for part in id.split(".")
    ]


def _place(ranking: Sequence[tuple[str, float]], right: set[str]) -> int:
    return next((at for at, (id, _) in enumerate(ranking) if id in right), UNRANKED)
