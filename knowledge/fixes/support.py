"""How many labelled faults stand behind a fix pattern, counted in study 1's tables."""

from __future__ import annotations

from knowledge.taxonomy import load_taxonomy
from knowledge.triage import Support


def support(fix: str, symptom: str | None = None) -> Support:
    """Distributed-specific faults of study 1 that were resolved by this fix, of all of this symptom.

    `symptom` is a leaf, D.other, an inner stage or a stage; None counts over all faults. A fault with
    several patterns counts for each. UserError for an unknown id.
    """
    taxonomy = load_taxonomy()
    taxonomy.cause_of_fix(fix)
    scope = taxonomy.scopes_of(symptom)[0]
    count, of = taxonomy.fix_counts(scope).get(fix, 0), taxonomy.faults_by_scope[scope]
    return Support(count=count, of=of, scope=f"studied failures {_named(scope)}")


def _named(scope: str) -> str:
    if scope == "all":
        return "of any kind"
    if scope in load_taxonomy().ids("symptom"):
        return "with this symptom"
    return f"in stage {scope}"
