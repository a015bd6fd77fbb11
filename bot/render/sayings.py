"""Words for a triage that terminal and Markdown share."""

from __future__ import annotations

from knowledge.taxonomy import Taxonomy
from knowledge.triage import Axis, CaseLabels, Support, Triage

KINDS = {
    "howto": "a how-to question",
    "feature": "a feature request",
    "internal": "a chore of the project",
}


def supported(support: Support) -> str:
    """How many labelled cases stand behind a fix: "12 of 31 labelled faults of this symptom (study 1)"."""
    return f"{support.count} of {support.of} {support.scope}"


def sure(p: float) -> str:
    """A probability in words, with the number."""
    word = (
        "almost certain" if p >= 0.95 else "likely" if p >= 0.75 else "probable" if p >= 0.5 else "possible"
    )
    return f"{word}, {p:.0%}"


def named(taxonomy: Taxonomy, axis: str, id: str) -> str:
    """An id with its name: "D.2.1 Hang"; ids that are words stand alone with their name."""
    entry = next((e for e in taxonomy.on_axis(axis) if e.id == id), None)
    name = entry.name if entry else id
    return f"{id} {name}" if axis in ("stage", "symptom") else name


def headline(triage: Triage, taxonomy: Taxonomy) -> str:
    """The finding in one line, as sure as it is and no surer."""
    kind = triage.type.top
    if kind != "fault":
        what = KINDS[kind or "howto"]
        return f"This reads as {what} ({sure(triage.type.ranking[0].p)}), not as a fault."
    best = triage.symptom.ranking[0]
    if triage.symptom.answer:
        return f"{named(taxonomy, 'symptom', best.id)} ({sure(best.p)})"
    stage = triage.stage.ranking[0]
    where = f" of stage {named(taxonomy, 'stage', stage.id)} ({sure(stage.p)})" if triage.stage.answer else ""
    open_ = " or ".join(f"{named(taxonomy, 'symptom', r.id)} ({r.p:.0%})" for r in triage.symptom.ranking[:2])
    cause = triage.cause.ranking[0]
    told = (
        f" Its cause: {named(taxonomy, 'cause', cause.id)} ({sure(cause.p)})." if triage.cause.answer else ""
    )
    return f"A fault{where}; its symptom cannot be told for sure: {open_}.{told}"


def verdict(axis: Axis, taxonomy: Taxonomy, name: str) -> tuple[str, str]:
    """What an axis claims, and the runners-up."""
    best, *rest = axis.ranking
    claimed = f"{named(taxonomy, name, best.id)}, {best.p:.0%}" if axis.answer else "cannot tell"
    others = rest if axis.answer else axis.ranking
    return claimed, ", ".join(f"{named(taxonomy, name, r.id)} {r.p:.0%}" for r in others[:3] if r.p >= 0.03)


def labels_line(labels: CaseLabels) -> str:
    """The labels of a neighbour in one line."""
    if labels.type != "fault":
        return ", ".join(x for x in (labels.type, labels.topic) if x)
    fixed = f"fix {'/'.join(labels.fix)}" if labels.fix else "fix not known"
    return f"{'/'.join(labels.symptom) or '?'}, {fixed}"


def source_mark(label_source: str) -> str:
    """Who labelled a case, in a word."""
    return (
        "labelled by people" if label_source.startswith("human") else "labelled by annotation, not by people"
    )
