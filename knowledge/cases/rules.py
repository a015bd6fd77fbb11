"""The rules that a case's labels obey beyond their schema."""

from __future__ import annotations

from knowledge.cases.case import Case
from knowledge.errors import DataError
from knowledge.taxonomy import load_taxonomy
from knowledge.taxonomy.links import case_id

HUMAN = "human"
"""Label sources that start with this are people's."""


def label_problems(case: Case) -> list[str]:
    """Every label of a case that the taxonomy does not know; empty when they are sound."""
    taxonomy, labels = load_taxonomy(), case.labels
    given = {
        "type": [labels.type],
        "stage": labels.stage,
        "symptom": labels.symptom,
        "cause": labels.cause,
        "fix": labels.fix,
        "topic": [labels.topic] if labels.topic else [],
    }
    return [
        f"labels.{axis}: {one!r} is no {axis} of the taxonomy"
        for axis, ids in given.items()
        for one in ids
        if one not in taxonomy.ids(axis)
    ]


def curated_problems(case: Case) -> list[str]:
    """`label_problems`, and every label that contradicts another one, the url or the source."""
    return [
        *label_problems(case),
        *_misplaced(case),
        *_not_of_a_fault(case),
        *_crosswalk(case),
        *_link(case),
    ]


def _misplaced(case: Case) -> list[str]:
    return [
        f"labels.symptom: {symptom} belongs to a stage that labels.stage does not name"
        for symptom in case.labels.symptom
        if symptom.partition(".")[0] not in case.labels.stage
    ]


def _not_of_a_fault(case: Case) -> list[str]:
    labels = case.labels
    if labels.type == "fault":
        extra = [name for name in ("topic", "subtopic") if getattr(labels, name)]
    else:
        extra = [name for name in ("stage", "symptom", "cause", "fix") if getattr(labels, name)]
    return [f"labels.{name}: a {labels.type} has none" for name in extra]


def _crosswalk(case: Case) -> list[str]:
    if not case.label_source.startswith(HUMAN):
        return []
    taxonomy = load_taxonomy()
    known = [fix for fix in case.labels.fix if fix in taxonomy.ids("fix")]
    told = list(dict.fromkeys(taxonomy.cause_of_fix(fix) for fix in known))
    return (
        [] if told == case.labels.cause else [f"labels.cause: the fixes tell {told}, not {case.labels.cause}"]
    )


def _link(case: Case) -> list[str]:
    try:
        named = case_id(case.url)
    except DataError as error:
        return [f"url: {error.message}"]
    return [] if named == case.id else [f"url: leads to {named}, the id is {case.id}"]
