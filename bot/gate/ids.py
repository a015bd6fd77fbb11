"""A triage may speak only of what exists: ids of the taxonomy, fixes and cases it carries itself."""

from __future__ import annotations

from collections.abc import Callable

from bot.gate.passed import GateError
from knowledge.triage import AXES, AxisName, Triage


def check_ids(triage: Triage, ids: Callable[[AxisName], frozenset[str]]) -> None:
    """`GateError` when an axis ranks, claims or advises an id that the taxonomy has not."""
    broken = []
    for name in AXES:
        axis = getattr(triage, name)
        named = {r.id for r in axis.ranking} | set(axis.answer) | set(axis.answer_set)
        if name == "fix":
            named |= {fix.id for fix in triage.advice.fixes}
        if named - ids(name):
            broken.append(f"unknown id of {name}")
    if broken:
        raise GateError(broken)
