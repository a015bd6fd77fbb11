"""Importer of study 1's reliability sheets: five rounds of posts that two annotators labelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from knowledge.errors import DataError
from knowledge.taxonomy import study1
from knowledge.taxonomy.model import case_id
from knowledge.taxonomy.study1 import Sheet, causes_of, read_sheets

# One annotator's label of one post in study 1's reliability sheets, repaired where it slipped.


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
    stage = study1.stage_id(cells["stage"])
    scope = (study1.inner_id(inner) or _inner_of(leaf)) if stage == "D" else stage
    undecided_fix = study1.is_undecided(fix)
    return Annotation(
        type=study1.type_id(cells["type"]),
        distributed={"1": True, "0": False}.get(cells["distributed"]),
        stage=stage,
        scope=scope,
        symptom=_symptom(scope, leaf),
        fix=() if undecided_fix else study1.fix_ids(fix)[0],
        fix_written=study1.fold(fix),
        topic=study1.topic_id(cells["topic"]),
        repaired=repaired,
    )


def _unslipped(inner: str, leaf: str, fix: str) -> tuple[str, str, str, bool]:
    """Undo a slip to the left: a row lost its cell of the inner category."""
    if not inner or study1.inner_id(inner) is not None or fix:
        return inner, leaf, fix, False
    if not study1.is_leaf(inner):
        return inner, leaf, fix, False
    return "", inner, leaf, True


def _inner_of(leaf: str) -> str | None:
    """The half of stage D that alone has this leaf, for rows that leave it out."""
    homes = [scope for scope in ("D.1", "D.2") if study1.leaf_id(scope, leaf)]
    return homes[0] if len(homes) == 1 else None


def _symptom(scope: str | None, leaf: str) -> str | None:
    if scope is None or study1.is_undecided(leaf):
        return None
    known = study1.leaf_id(scope, leaf)
    rest = None if scope in {"A", "B"} else f"{scope}.other"
    return known or rest


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two annotators agree over `n` items: `raw` share of equal labels, `kappa` beyond chance."""

    n: int
    raw: float
    kappa: float


def agreement_of(pairs: Sequence[tuple[Hashable, Hashable]]) -> Agreement:
    """Cohen's kappa (Educ. Psychol. Meas. 20, 1960) of pairs of labels; ValueError when there are none.

    When both annotators give one and the same label to all, chance explains everything: kappa is 1.
    """
    if not pairs:
        raise ValueError("no pair of labels")
    n = len(pairs)
    raw = sum(first == second for first, second in pairs) / n
    ones, twos = Counter(first for first, _ in pairs), Counter(second for _, second in pairs)
    chance = sum(ones[label] * twos[label] for label in ones) / n**2
    return Agreement(n, raw, 1.0 if chance == 1 else (raw - chance) / (1 - chance))


PUBLISHED = {"stage": 0.93, "symptom": 0.86, "fix": 0.76}
"""Raw agreement over 278 faults before reconciling, as told of the study."""

_COLUMNS = {
    "link": ("link",),
    "type": ("issue type",),
    "topic": ("how-to topic",),
    "distributed": ("distributed-specified", "distributed-specific"),
    "stage": ("stage",),
    "inner": ("type", "inner symptom", "inner-category"),
    "leaf": ("leaf category",),
    "fix": ("fix pattern",),
}
_ANNOTATORS = ("label1", "label2")


@dataclass(frozen=True, slots=True)
class DoubleLabel:
    """One post (or the `part`-th fault of one, from 0) with the labels of both annotators."""

    id: str
    url: str
    round: int
    part: int
    first: Annotation
    second: Annotation

    @property
    def both_fault(self) -> bool:
        """Both annotators took it for a fault."""
        return self.first.is_fault and self.second.is_fault


@dataclass(frozen=True, slots=True)
class Reliability:
    """All doubly labelled posts; `unpaired` rows were written by one annotator only and are left out."""

    items: tuple[DoubleLabel, ...]
    unpaired: int

    @property
    def repaired(self) -> int:
        """Rows that had slipped one column to the left and were moved back."""
        return sum(item.first.repaired + item.second.repaired for item in self.items)

    def agreement(self, axis: str, *, decided_only: bool = False) -> Agreement:
        """Agreement on type (all items), topic (how-tos), distributed, stage, symptom, cause or fix (faults).

        An undecided label counts as a label of its own unless `decided_only`; a compound fix agrees only
        when all its patterns do. DataError when the axis is unknown or nothing can be compared.
        """
        label = _labels(axis)
        pairs = [(label(item.first), label(item.second)) for item in self.items if _compared(axis, item)]
        if decided_only:
            pairs = [pair for pair in pairs if not any(_undecided(one) for one in pair)]
        return _agreement(axis, pairs)

    def as_published(self, axis: str) -> Agreement:
        """Agreement counted the study's way: the first fault of a post only, both explicitly typed as a
        fault, and fixes compared as written, before spellings become patterns.

        Gives the published 0.93, 0.86 and 0.76 over 280 posts; which two the paper's 278 leave out
        cannot be told from the sheets.
        """
        label = (lambda one: one.fix_written) if axis == "fix" else _labels(axis)
        posts = [i for i in self.items if i.part == 0 and i.first.type == i.second.type == "fault"]
        return _agreement(axis, [(label(post.first), label(post.second)) for post in posts])


def import_reliability(folder: Path) -> Reliability:
    """Read reliability_analysis_round*.xlsx of a folder. DataError when none is there or one is broken."""
    paths = sorted(folder.glob("reliability_analysis_round*.xlsx"))
    if not paths:
        raise DataError(
            f"{folder} has no reliability_analysis_round*.xlsx.",
            "Pass the folder with study 1's sheets.",
        )
    items: list[DoubleLabel] = []
    unpaired = 0
    for number, path in enumerate(paths, start=1):
        sheets = read_sheets(path, dict.fromkeys(_ANNOTATORS, _COLUMNS))
        first, second = (_by_post(sheets[name]) for name in _ANNOTATORS)
        unpaired += len(first.keys() ^ second.keys())
        items += [
            DoubleLabel(case_id(url), url, number, part, one, second[url, part])
            for (url, part), one in first.items()
            if (url, part) in second
        ]
    return Reliability(tuple(items), unpaired)


def _by_post(sheet: Sheet) -> dict[tuple[str, int], Annotation]:
    """Labels by (url, part); a row without a link is a further part of the post above it."""
    labels: dict[tuple[str, int], Annotation] = {}
    url, part = "", 0
    for row in sheet.rows:
        if not any(value for name, value in row.cells.items() if name != "link"):
            continue
        if row["link"] and row["link"] != url:
            url, part = row["link"], 0
        elif not url:
            raise DataError(
                f"{sheet.where}, row {row.number}: the link is missing.", "The first row must have one."
            )
        else:
            part += 1
        labels[url, part] = annotation(row.cells)
    return labels


def _labels(axis: str) -> Callable[[Annotation], Hashable]:
    by_axis: dict[str, Callable[[Annotation], Hashable]] = {
        "type": lambda one: "fault" if one.is_fault else one.type,
        "topic": lambda one: one.topic,
        "distributed": lambda one: one.distributed,
        "stage": lambda one: one.stage,
        "symptom": lambda one: one.symptom or f"undecided in {one.scope}",
        "fix": lambda one: frozenset(one.fix),
        "cause": lambda one: frozenset(causes_of(one.fix)),
    }
    if axis not in by_axis:
        raise DataError(f"The annotators didn't label {axis!r}.", f"Use one of: {', '.join(by_axis)}.")
    return by_axis[axis]


def _compared(axis: str, item: DoubleLabel) -> bool:
    if axis == "type":
        return True
    if axis == "topic":
        return item.first.type == item.second.type == "howto"
    return item.both_fault


def _undecided(label: Hashable) -> bool:
    return (not label and label is not False) or (isinstance(label, str) and label.startswith("undecided"))


def _agreement(axis: str, pairs: list[tuple[Hashable, Hashable]]) -> Agreement:
    if not pairs:
        raise DataError(f"There are no two {axis} labels to compare.", "Use the study's complete sheets.")
    return agreement_of(pairs)
