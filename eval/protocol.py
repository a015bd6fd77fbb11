"""What is evaluated: anything that learns from prepared reports and ranks ids for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from eval.usage import Usage
from knowledge.judging.axes import Judged
from knowledge.taxonomy import Taxonomy
from knowledge.training.items import Prepared

SCORED: tuple[Judged, ...] = ("type", "distributed", "stage", "symptom", "cause", "fix")
"""The axes that are scored, in the order in which they are reported."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a system says on one axis: ids with probabilities, best first; what it claims; its answer set.

    Probabilities of 0 throughout = the system gives none. `answer` empty = "cannot tell"; `answer_set` empty =
    the system gives none. What is not given is unscored, not missed.
    """

    ranking: tuple[tuple[str, float], ...]
    answer: tuple[str, ...] = ()
    answer_set: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """A system's opinions on one report; an axis it lacks (a failed call, say) counts as unscored.

    `neighbours` are the ids of the cases it shows, nearest first.
    """

    axes: Mapping[Judged, Opinion]
    neighbours: tuple[str, ...] = ()
    usage: Usage | None = None
    """What it took of an LLM, where one was asked."""


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """What a fold leaves to learn from; `corpus` are those of them that may be shown as neighbours."""

    learn: Sequence[Prepared]
    corpus: Sequence[Prepared]
    taxonomy: Taxonomy


class System(Protocol):
    """A system under evaluation. `fit` is called once a fold and forgets what was learned before."""

    @property
    def name(self) -> str:
        """How tables and files call it."""
        ...

    def fit(self, train: TrainingSet) -> None:
        """Learn from a fold's training set, and from nothing else."""
        ...

    def rank(self, items: Sequence[Prepared]) -> list[Verdict]:
        """One verdict for each report, in their order; the reports' labels must not be looked at."""
        ...
