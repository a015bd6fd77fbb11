"""One annotator's label of one post in study 1's reliability sheets, repaired where it slipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from knowledge.taxonomy import spelling


@dataclass(frozen=True, slots=True)
class Annotation:
    """What one annotator wrote, as ids; None or an empty tuple = not decided (or not asked)."""

    type: str | None
    distributed: bool | None
    stage: str | None
    scope: str | None
    """Stage A, B, C or inner stage D.1, D.2: what is decided even while the leaf is pending."""
    symptom: str | None
    fix: tuple[str, ...]
    fix_written: str
    """The fix cell with case and blanks folded, before its spelling becomes an id."""
    topic: str | None
    repaired: bool
    """True when the row had slipped one column to the left and was moved back."""

    @property
    def is_fault(self) -> bool:
        """Labelled a fault, or left without a type but with a stage."""
        return self.type == "fault" or (self.type is None and self.stage is not None)


def annotation(cells: Mapping[str, str]) -> Annotation:
    """Cells type, distributed, stage, inner, leaf, fix, topic -> ids.

    A leaf no list knows is taken as the rest class of its scope: the annotators named leaves freely
    before the taxonomy was closed.
    """
    inner, leaf, fix, repaired = _unslipped(cells["inner"], cells["leaf"], cells["fix"])
    stage = spelling.stage_id(cells["stage"])
    scope = (spelling.inner_id(inner) or _inner_of(leaf)) if stage == "D" else stage
    undecided_fix = spelling.is_undecided(fix)
    return Annotation(
        type=spelling.type_id(cells["type"]),
        distributed={"1": True, "0": False}.get(cells["distributed"]),
        stage=stage,
        scope=scope,
        symptom=_symptom(scope, leaf),
        fix=() if undecided_fix else spelling.fix_ids(fix)[0],
        fix_written=spelling.fold(fix),
        topic=spelling.topic_id(cells["topic"]),
        repaired=repaired,
    )


def _unslipped(inner: str, leaf: str, fix: str) -> tuple[str, str, str, bool]:
    """Undo a slip to the left: a row lost its cell of the inner category."""
    if not inner or spelling.inner_id(inner) is not None or fix:
        return inner, leaf, fix, False
    if not spelling.is_leaf(inner):
        return inner, leaf, fix, False
    return "", inner, leaf, True


def _inner_of(leaf: str) -> str | None:
    """The half of stage D that alone has this leaf, for rows that leave it out."""
    homes = [scope for scope in ("D.1", "D.2") if spelling.leaf_id(scope, leaf)]
    return homes[0] if len(homes) == 1 else None


def _symptom(scope: str | None, leaf: str) -> str | None:
    if scope is None or spelling.is_undecided(leaf):
        return None
    known = spelling.leaf_id(scope, leaf)
    rest = None if scope in {"A", "B"} else f"{scope}.other"
    return known or rest
