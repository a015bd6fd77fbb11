"""A system's predictions summed up: headline figures with intervals, per-class table, the README's table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from eval.ceiling import Ceiling
from eval.compare import Difference
from eval.metrics import (
    BINS,
    METRICS,
    REPLICATES,
    Estimate,
    Scored,
    bin_of,
    class_counts,
    estimate,
    f1_of,
    group_weights,
    macro_f1,
    same_symptom,
    scored,
)
from eval.protocol import SCORED, Predictions, UsageSummary

LEAST = 100
"""Reports that the LLM must have answered about; fewer decide nothing."""
LEVEL = 0.05
DECIDING = ("type", "stage", "symptom", "cause", "fix")
"""Axes whose first id may show the gain."""


@dataclass(frozen=True, slots=True)
class Worth:
    """Whether the LLM is to be asked (None: too little was measured) and why, in a sentence."""

    use: bool | None
    why: str


def worth(differences: Sequence[Difference], usage: UsageSummary) -> Worth:
    """The rule, on `differences` of the system with the LLM (B) against the one without (A)."""
    if usage.used < LEAST:
        return Worth(None, f"It answered about {usage.used} reports; fewer than {LEAST} decide nothing.")
    if usage.fabricated:
        return Worth(False, f"Something made up came out in {usage.fabricated} answers.")
    worse = [one for one in differences if one.high < 0]
    if worse:
        return Worth(False, f"Significantly worse: {_named(worse)}.")
    better = [one for one in differences if _decides(one) and one.low > 0 and one.p < LEVEL / len(DECIDING)]
    if better:
        return Worth(True, f"Significantly better: {_named(better)}; nothing significantly worse.")
    return Worth(False, f"No significant gain on {usage.reports} reports.")


def _decides(one: Difference) -> bool:
    return one.axis in DECIDING and one.metric == "top1"


def _named(found: Sequence[Difference]) -> str:
    return ", ".join(f"{one.axis} {one.metric} {one.a:.3f} to {one.b:.3f}" for one in found)


@dataclass(frozen=True, slots=True)
class ClassRow:
    """One class: labelled cases, how many of them were hit, share of its predictions that are right, F1."""

    id: str
    cases: int
    recall: float
    precision: float | None
    f1: float


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin of the reliability plot: mean confidence, share right, cases."""

    confidence: float
    right: float
    cases: int


@dataclass(frozen=True, slots=True)
class AxisSummary:
    """Everything told of one axis."""

    axis: str
    n: int
    unanswered: int
    figures: Mapping[str, Estimate]
    classes: Sequence[ClassRow]
    confusion: Mapping[tuple[str, str], int]
    """(label, predicted) -> cases; a case of several labels counts under the one hit, else under its first."""
    bins: Sequence[Bin]
    risk: Sequence[tuple[float, float]]
    """(coverage, share wrong) from the most confident case on."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A system's figures on every axis that has labels; `type_f1_by_repository` where only types are known."""

    system: str
    split: str
    learned_from: str
    cases: int
    axes: Mapping[str, AxisSummary]
    neighbours: Estimate
    type_f1_by_repository: Mapping[str, float]

    @property
    def mean_type_f1(self) -> float | None:
        """Mean over repositories of the macro-F1 of the type, as the NLBSE tool competition counts."""
        values = list(self.type_f1_by_repository.values())
        return float(np.mean(values)) if values else None


def summarise(predictions: Predictions, replicates: int = REPLICATES) -> Summary:
    """All figures of a system."""
    axes = {axis: scored(predictions, axis) for axis in SCORED}
    symptom = axes["symptom"]
    return Summary(
        predictions.system,
        predictions.split,
        predictions.learned_from,
        len(predictions.cases),
        {axis: _axis(s, replicates) for axis, s in axes.items() if len(s) or s.unanswered},
        estimate(same_symptom, symptom, group_weights(symptom.group, replicates)),
        _by_repository(predictions) if predictions.types_only else {},
    )


def _axis(s: Scored, replicates: int) -> AxisSummary:
    weights = group_weights(s.group, replicates)
    figures = {name: estimate(metric, s, weights) for name, metric in METRICS.items()}
    return AxisSummary(s.axis, len(s), s.unanswered, figures, _classes(s), _confusion(s), _bins(s), _risk(s))


def _classes(s: Scored) -> list[ClassRow]:
    counts = class_counts(s, np.ones((1, len(s))))
    found, wrong, lost = (one[0] for one in counts)
    f1 = f1_of(*counts)[0]
    return [
        ClassRow(
            id,
            int(found[at] + lost[at]),
            float(found[at] / (found[at] + lost[at])),
            float(found[at] / (found[at] + wrong[at])) if found[at] + wrong[at] else None,
            float(f1[at]),
        )
        for at, id in enumerate(s.classes)
        if found[at] + lost[at]
    ]


def _confusion(s: Scored) -> dict[tuple[str, str], int]:
    out: dict[tuple[str, str], int] = defaultdict(int)
    for case, predicted, hit in zip(s.cases, s.predicted, s.hit1, strict=True):
        said = s.classes[predicted]
        out[said if hit else case.labels[s.axis][0], said] += 1
    return dict(out)


def _bins(s: Scored) -> list[Bin]:
    place = bin_of(s.confidence)
    return [
        Bin(float(s.confidence[place == b].mean()), float(s.hit1[place == b].mean()), int((place == b).sum()))
        for b in range(BINS)
        if (place == b).any()
    ]


def _risk(s: Scored) -> list[tuple[float, float]]:
    order = np.argsort(-s.confidence, kind="stable")
    depth = np.arange(1, len(s) + 1)
    risk = np.cumsum(~s.hit1[order]) / depth
    return [(float(d / len(s)), float(r)) for d, r in zip(depth, risk, strict=True)]


def _by_repository(predictions: Predictions) -> dict[str, float]:
    out = {}
    for repository in sorted({case.repository for case in predictions.cases}):
        own = [case for case in predictions.cases if case.repository == repository]
        s = scored(predictions.model_copy(update={"cases": own}), "type")
        if len(s):
            out[repository] = float(macro_f1(s, np.ones((1, len(s))))[0])
    return out


# The table of the README, as Markdown: distriage, the systems beside it, and the human ceiling.

COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("type", "type", "top1"),
    ("distributed", "distributed", "top1"),
    ("stage", "stage", "top1"),
    ("symptom", "symptom", "top1"),
    ("symptom, top 3", "symptom", "top3"),
    ("cause", "cause", "top1"),
    ("fix", "fix", "top1"),
    ("fix, top 3", "fix", "top3"),
)
"""Heading, axis, metric."""
DETAILS: tuple[tuple[str, str], ...] = (
    ("top-1", "top1"),
    ("top-3", "top3"),
    ("macro-F1", "macro_f1"),
    ("coverage", "coverage"),
    ("precision when it answers", "precision"),
    ("calibration error", "ece"),
    ("AURC", "aurc"),
    ("answer-set size", "set_size"),
    ("answer-set coverage", "set_coverage"),
)
"""Heading and metric of the detailed table, one row an axis."""


def markdown(
    summaries: Sequence[Summary], ceiling: Ceiling, *, note: str, more: Sequence[Sequence[str]] = ()
) -> str:
    """Two tables: systems by headline figure, and the first system's details by axis, with `more` rows of these."""
    lead = summaries[0]
    columns = [column for column in COLUMNS if column[1] in lead.axes]
    rows = [[s.system, *(_figure(s, axis, metric) for _, axis, metric in columns)] for s in summaries]
    rows.append(["two people agree", *(_agreement(ceiling, axis, metric) for _, axis, metric in columns)])
    details = [
        [axis, str(lead.axes[axis].n), *(_plain(lead, axis, metric) for _, metric in DETAILS)]
        for axis in lead.axes
    ]
    details += [list(row) for row in more]
    parts = [
        note,
        table(["", *(heading for heading, _, _ in columns)], rows),
        f"{lead.system}, by axis:",
        table(["axis", "cases", *(heading for heading, _ in DETAILS)], details),
        f"Of the three nearest cases shown, {lead.neighbours} have the report's symptom.",
    ]
    if lead.mean_type_f1 is not None:
        each = ", ".join(f"{name} {f1:.3f}" for name, f1 in lead.type_f1_by_repository.items())
        parts = [
            note,
            f"Mean F1 of the type over repositories: {lead.mean_type_f1:.3f} ({each}).",
            *parts[1:4],
        ]
    return "\n\n".join(parts) + "\n"


def figures_json(summary: Summary) -> dict[str, object]:
    """Every axis's figures with their intervals, for JSON."""
    return {
        name: {"cases": axis.n, **{metric: asdict(figure) for metric, figure in axis.figures.items()}}
        for name, axis in summary.axes.items()
    }


def note_of(summary: Summary, ceiling: Ceiling) -> str:
    """What the table measures, in words."""
    return (
        f"{summary.cases} cases, {summary.split}. Figures are shares with a 95 % bootstrap interval over groups; a hit "
        f"on any label of a case counts. Agreement: {ceiling.source}."
    )


def _figure(summary: Summary, axis: str, metric: str) -> str:
    return str(_estimate(summary, axis, metric))


def _plain(summary: Summary, axis: str, metric: str) -> str:
    value = _estimate(summary, axis, metric).value
    return "–" if value is None else f"{value:.2f}"


def _estimate(summary: Summary, axis: str, metric: str) -> Estimate:
    found = summary.axes.get(axis)
    return found.figures[metric] if found else Estimate(None)


def _agreement(ceiling: Ceiling, axis: str, metric: str) -> str:
    human = ceiling.axes.get(axis)
    return f"{human.agreement:.2f} (κ {human.kappa:.2f})" if human and metric == "top1" else "–"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def differences(found: Sequence[Difference], a: str, b: str) -> str:
    """A comparison as a table: B against A, with interval and McNemar's p."""
    rows = [
        [
            d.axis,
            d.metric,
            str(d.n),
            f"{d.a:.3f}",
            f"{d.b:.3f}",
            f"{d.delta:+.3f} ({d.low:+.3f} to {d.high:+.3f})",
            f"{d.only_a} / {d.only_b}",
            f"{d.p:.3f}",
            ("better" if d.delta > 0 else "worse") if d.significant else "no difference shown",
        ]
        for d in found
    ]
    head = ["axis", "figure", "cases", "A", "B", "B - A (95 %)", "only A / only B right", "McNemar p", "B is"]
    return f"A = {a}\nB = {b}\n\n{table(head, rows)}\n"
