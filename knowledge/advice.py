"""Advice: the probable fix patterns, each with its support and two sentences of ours."""

from __future__ import annotations

from collections.abc import Mapping

from knowledge.fixes import advice_text, support
from knowledge.taxonomy import Taxonomy
from knowledge.triage import Advice, Axis, FixAdvice

LEAST = 0.05
"""Below this probability a fix pattern is not worth a reader's time."""


def advise(
    axes: Mapping[str, Axis], framework: str | None, taxonomy: Taxonomy, *, top: int, fault: bool
) -> Advice:
    """For a fault: at most `top` (five) fix patterns, the most probable first. For a how-to: its topic."""
    if not fault:
        return Advice(fixes=[], topic=axes["topic"] if axes["type"].top == "howto" else None)
    symptom = axes["symptom"].top
    # Support is counted over what is claimed: "of this symptom" would claim one that cannot be told.
    counted = next((axes[axis].answer[0] for axis in ("symptom", "stage") if axes[axis].answer), None)
    names = {entry.id: entry.name for entry in taxonomy.fixes}
    fixes = [
        FixAdvice(
            id=ranked.id,
            name=names[ranked.id],
            p=ranked.p,
            support=support(ranked.id, counted),
            text=advice_text(ranked.id, symptom, framework),
        )
        for ranked in axes["fix"].ranking
        if ranked.p >= LEAST and ranked.id != "other"
    ]
    return Advice(fixes=fixes[: min(top, 5)])
