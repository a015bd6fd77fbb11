"""The ten most instructive failures: confident, of different kinds, each with what it stood on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eval.ceiling import Ceiling
from eval.predictions import CasePrediction, Predictions
from eval.scored import UNRANKED, Scored, scored

COUNT = 10
_HARD = 0.75
"""Below this agreement people themselves are unsure of a class."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A case whose first id on `axis` is wrong; `remarks` say what can be learned from it."""

    case: CasePrediction
    axis: str
    labels: tuple[str, ...]
    ranking: tuple[tuple[str, float], ...]
    place: int
    claimed: bool
    remarks: tuple[str, ...]


def failures(predictions: Predictions, ceiling: Ceiling, count: int = COUNT) -> list[Failure]:
    """Failures on the symptom (on the type where only types are known), the most confident first.

    Each pair of label and prediction is shown once before any is shown again: ten of one kind teach one thing.
    """
    axis = "type" if predictions.types_only else "symptom"
    s = scored(predictions, axis)
    human = ceiling.axes[axis].classes if axis in ceiling.axes else {}
    wrong = sorted((at for at in range(len(s)) if not s.hit1[at]), key=lambda at: (-s.confidence[at], at))
    first: list[int] = []
    again: list[int] = []
    seen: set[tuple[str, str]] = set()
    for at in wrong:
        kind = (s.cases[at].labels[axis][0], s.classes[s.predicted[at]])
        (again if kind in seen else first).append(at)
        seen.add(kind)
    return [_failure(s, at, human) for at in [*first, *again][:count]]


def _failure(s: Scored, at: int, human: Mapping[str, float]) -> Failure:
    case = s.cases[at]
    opinion = case.axes[s.axis]
    labels = tuple(case.labels[s.axis])
    remarks = tuple(_remarks(s, at, human))
    return Failure(
        case, s.axis, labels, tuple(opinion.ranking[:3]), int(s.place[at]) + 1, bool(s.answered[at]), remarks
    )


def _remarks(s: Scored, at: int, human: Mapping[str, float]) -> list[str]:
    case, place, answered = s.cases[at], int(s.place[at]) + 1, bool(s.answered[at])
    out = ["claimed, and wrong" if answered else "not claimed: the triage says it cannot tell"]
    if place <= 3:
        out.append(f"the label is ranked {'second' if place == 2 else 'third'}")
    else:
        out.append(
            f"the label is ranked only {place}th" if place <= UNRANKED else "the label is not ranked at all"
        )
    if case.axes[s.axis].answer_set:
        out.append("the answer set holds it" if s.set_right[at] else "the answer set misses it, too")
    if s.axis == "symptom" and case.neighbours:
        near = [bool({*n.symptom} & {*case.labels["symptom"]}) for n in case.neighbours]
        if not any(near):
            out.append("no near case has this symptom")
        elif near[0]:
            out.append("the nearest case has the right symptom")
    told = case.axes.get("type")
    if s.axis != "type" and told and told.ranking[0][0] != "fault":
        out.append(f"taken for a {told.ranking[0][0]}")
    agreement = min((human[id] for id in case.labels[s.axis] if id in human), default=1.0)
    if agreement < _HARD:
        out.append(f"two people agree on this class only {agreement:.2f} of the time")
    if not case.lines:
        out.append("no decisive line was found in the text")
    return out
