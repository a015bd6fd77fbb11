"""What a result changed, in sentences of ours; what comes from a pasted block stands in code."""

from __future__ import annotations

from collections.abc import Mapping

from knowledge.diagnostics.counted import counted_noun
from knowledge.diagnostics.ranks import some_of
from knowledge.diagnostics.steps import Move
from knowledge.diagnostics.update import Update, in_words

FIRST_STEPS = 3
"""Steps that come before contradictions and differences: a comment shows five sentences."""
MOST_DIFFERENCES = 3


def sentences(moved: Update, names: Mapping[str, str], processes: int) -> tuple[str, ...]:
    """What was found, most telling first: the surfaces show the first few only.

    `names`: cause id to name; `processes`: how many results there are.
    """
    steps = [_step(step, names, processes) for step in moved.moves]
    told = {step.probe for step in moved.moves}
    rest = [f"{one.title}: {one.text}" for one in moved.findings if one.probe not in told]
    said = [f"Contradiction: {in_words(text, names)}" for text in moved.contradictions]
    said += [f"Differs, as pasted: {one.text}" for one in moved.differences[:MOST_DIFFERENCES]]
    if not (steps or rest) and moved.healthy:
        steps = [f"{counted_noun(moved.healthy, 'probe')} found nothing wrong; that moves no cause by much."]
    return (*steps[:FIRST_STEPS], *said, *steps[FIRST_STEPS:], *rest, *moved.notes)


def _step(step: Move, names: Mapping[str, str], processes: int) -> str:
    """What a probe found, on which ranks where there are several, and what that did to a cause."""
    where = (
        f" on {some_of(sorted(step.who, key=lambda name: (len(name), name)))}"
        if processes > 1 and step.who
        else ""
    )
    change = f"{names.get(step.cause, step.cause)} from {step.before:.0%} to {step.after:.0%}"
    return f"{step.title}{where} ({change}): {step.text}"
