"""The human ceiling: how far study 1's two annotators agree, per axis and per class.

    python -m eval.ceiling DIR > eval/ceiling.json

makes the shipped figures from the study's reliability sheets. They are figures of people before reconciling, over
the posts that both labelled, not over the cases scored here: a neighbour to compare with, not a bound.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from eval.protocol import SCORED
from knowledge.taxonomy.reliability import PUBLISHED, Annotation, DoubleLabel, Reliability, import_reliability
from knowledge.taxonomy.study1 import causes_of

SHIPPED = Path(__file__).with_name("ceiling.json")
STUDY = "Liu et al., TOSEM 2023"
_LEAST = 5
"""Labels that both annotators together must have given before agreement on a class is told."""


class AxisCeiling(BaseModel):
    """Two annotators on one axis: share of equal labels, Cohen's kappa, items; agreement of each class.

    A class's agreement is 2 x both / (first + second), which is the F1 of either annotator against the other.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    agreement: float
    kappa: float
    n: int
    published: bool
    """The study prints this agreement itself; the rest is counted by us from its sheets."""
    classes: dict[str, float]


class Ceiling(BaseModel):
    """The ceiling of each axis, and where it is from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    axes: dict[str, AxisCeiling]


def shipped_ceiling() -> Ceiling:
    """The figures that ship."""
    return Ceiling.model_validate_json(SHIPPED.read_bytes())


def ceiling_of(folder: Path) -> Ceiling:
    """The figures from a folder with the five sheets. DataError when they are not there or broken."""
    sheets = import_reliability(folder)
    return Ceiling(
        source=f"two annotators of {STUDY}, before reconciling, counted from the study's reliability sheets",
        axes={axis: _axis(sheets, axis) for axis in SCORED},
    )


def _axis(sheets: Reliability, axis: str) -> AxisCeiling:
    published = axis in PUBLISHED
    agreement = sheets.as_published(axis) if published else sheets.agreement(axis)
    return AxisCeiling(
        agreement=round(agreement.raw, 4),
        kappa=round(agreement.kappa, 4),
        n=agreement.n,
        published=published,
        classes=_classes(sheets, axis),
    )


def _classes(sheets: Reliability, axis: str) -> dict[str, float]:
    both: Counter[str] = Counter()
    single: Counter[str] = Counter()
    for item in sheets.items:
        if axis != "type" and not item.both_fault:
            continue
        first, second = _ids(item, axis)
        both.update(first & second)
        single.update(first)
        single.update(second)
    return {id: round(2 * both[id] / n, 3) for id, n in sorted(single.items()) if n >= _LEAST}


def _ids(item: DoubleLabel, axis: str) -> tuple[set[str], set[str]]:
    return _of(item.first, axis), _of(item.second, axis)


def _of(one: Annotation, axis: str) -> set[str]:
    given: Mapping[str, set[str | None]] = {
        "type": {"fault" if one.is_fault else one.type},
        "distributed": {{True: "distributed", False: "single_device", None: None}[one.distributed]},
        "stage": {one.stage},
        "symptom": {"D.other" if one.symptom in ("D.1.other", "D.2.other") else one.symptom},
        "cause": set(causes_of(one.fix)),
        "fix": set(one.fix),
    }
    return {id for id in given[axis] if id}


if __name__ == "__main__":
    print(ceiling_of(Path(sys.argv[1])).model_dump_json(indent=1))
