"""The table of the README, as Markdown: distriage, the systems beside it, and the human ceiling."""

from __future__ import annotations

from collections.abc import Sequence

from eval.bootstrap import Estimate
from eval.ceiling import Ceiling
from eval.compare import Difference
from eval.summary import Summary

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


def markdown(summaries: Sequence[Summary], ceiling: Ceiling, *, note: str) -> str:
    """Two tables: systems by headline figure, and the first system's details by axis."""
    lead = summaries[0]
    columns = [column for column in COLUMNS if column[1] in lead.axes]
    rows = [[s.system, *(_figure(s, axis, metric) for _, axis, metric in columns)] for s in summaries]
    rows.append(["two people agree", *(_agreement(ceiling, axis, metric) for _, axis, metric in columns)])
    details = [
        [axis, str(lead.axes[axis].n), *(_plain(lead, axis, metric) for _, metric in DETAILS)]
        for axis in lead.axes
    ]
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
