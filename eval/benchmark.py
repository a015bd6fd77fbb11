"""The records of an evaluation: what may be learned from, what is scored, and splits that cannot flatter."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from embeddings.encoder import Encoder
from eval.protocol import SCORED
from knowledge.cases import load_cases
from knowledge.errors import DataError, UserError
from knowledge.judging.axes import axis_ids, labels_of
from knowledge.signatures import SignatureTable
from knowledge.taxonomy import load_taxonomy
from knowledge.training.items import Learned, Prepared, fingerprints, minima, near_duplicates, prepare
from knowledge.training.records import TrainingRecord, labelled_records, read_jsonl, shipped_records

# Which records must never be parted by a split: tellings of one issue, and near-duplicates.


def groups_of(records: Sequence[Prepared]) -> list[str]:
    """A group name for each record: the least issue id among all that hang together with it.

    Two records hang together when they have the same issue id, whatever its case, or nearly the same text.
    """
    parent = list(range(len(records)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    first_of: dict[str, int] = {}
    for at, record in enumerate(records):
        parent[root(at)] = root(first_of.setdefault(record.record.group, at))
    if records:
        for one, other in near_duplicates(np.stack([minima(record.reading) for record in records])):
            parent[root(one)] = root(other)
    names: dict[int, str] = {}
    for at, record in enumerate(records):
        top = root(at)
        names[top] = min(names.get(top, record.record.group), record.record.group)
    return [names[root(at)] for at in range(len(records))]


SHIPPED_SCORED = ("human", "pass")
"""Sources of the shipped benchmark: study 1's human labels, and the DeepSpeed family's annotation pass.
Composed and mass-annotated cases only ever train."""


@dataclass(frozen=True, slots=True)
class EvalCase:
    """A record with what splits ask of it; `opened` is an ISO date where it is known."""

    prepared: Prepared
    group: str
    scored: bool
    in_corpus: bool
    opened: str | None = None

    @property
    def framework(self) -> str | None:
        """The framework of the repository, or the one that the text tells of."""
        return self.prepared.reading.framework


@dataclass(frozen=True, slots=True)
class Benchmark:
    """All records of an evaluation, in a fixed order. `types_only`: only the axis type has labels."""

    cases: tuple[EvalCase, ...]
    types_only: bool = False

    @property
    def scored(self) -> list[EvalCase]:
        """Those that are scored."""
        return [case for case in self.cases if case.scored]


def shipped_benchmark(encoder: Encoder, progress: Callable[[int], None] = lambda _: None) -> Benchmark:
    """The shipped corpus: its cases labelled closely are scored, everything may be learned from."""
    return _assemble(shipped_records(), [], encoder, progress, score_shipped=True)


def given_benchmark(
    files: Sequence[Path],
    encoder: Encoder,
    progress: Callable[[int], None] = lambda _: None,
) -> Benchmark:
    """Given files are scored; what ships may be learned from. DataError when a file does not fit."""
    given = [pair for file in files for pair in _given(file)]
    if not given:
        raise DataError("The files contain no records.", "Each line must be one labeled record.")
    return _assemble(shipped_records(), given, encoder, progress, score_shipped=False)


def _given(file: Path) -> list[tuple[TrainingRecord, str | None]]:
    records = labelled_records(file)
    rows = list(read_jsonl(file))
    if rows and "labels" not in rows[0]:
        # Such rows have no id. Numbers alone would make row 1 of every such file the same issue.
        records = [_named_after(record, file, number) for number, record in enumerate(records, start=1)]
    for record in records:
        _check(record, file)
    return [
        (record, str(row["opened"]) if row.get("opened") else None)
        for record, row in zip(records, rows, strict=True)
    ]


def _check(record: TrainingRecord, file: Path) -> None:
    taxonomy = load_taxonomy()
    for axis in SCORED:
        ids = axis_ids(taxonomy, axis)
        unknown = [id for id in labels_of(record.labels, axis) if id not in ids]
        if unknown:
            raise DataError(
                f"{file}: {record.report.id}: {unknown[0]!r} isn't a valid {axis} ID.",
                "`bot taxonomy` lists all IDs.",
            )


def _named_after(record: TrainingRecord, file: Path, number: int) -> TrainingRecord:
    repository = record.report.id.rpartition("#")[0]
    return replace(
        record, report=replace(record.report, id=f"{repository}#{file.name.split('.')[0]}-{number}")
    )


def _assemble(
    shipped: Sequence[TrainingRecord],
    given: Sequence[tuple[TrainingRecord, str | None]],
    encoder: Encoder,
    progress: Callable[[int], None],
    *,
    score_shipped: bool,
) -> Benchmark:
    """A given record that ships word for word is scored where it stands, so that nothing is learned twice."""
    place = {(r.report.id.lower(), r.report.content_hash): at for at, r in enumerate(shipped)}
    wanted = {place.get((r.report.id.lower(), r.report.content_hash)) for r, _ in given}
    new = [(r, opened) for r, opened in given if (r.report.id.lower(), r.report.content_hash) not in place]
    dates = {case.id: case.opened for case in load_cases()}
    prepared = prepare([*shipped, *(r for r, _ in new)], SignatureTable(), encoder, progress)
    groups = groups_of(prepared)
    cases = []
    for at, (one, group) in enumerate(zip(prepared, groups, strict=True)):
        ships = at < len(shipped)
        scored = (score_shipped and one.record.source in SHIPPED_SCORED) or at in wanted or not ships
        opened = dates.get(one.record.report.id) if ships else new[at - len(shipped)][1]
        cases.append(EvalCase(one, group, scored, ships and one.record.source != "composed", opened))
    return Benchmark(tuple(cases), types_only=all(_type_only(c) for c in cases if c.scored))


def _type_only(case: EvalCase) -> bool:
    return case.prepared.record.source == "type"


# The leakage guard: what was learned from, or shows as a neighbour, is not scored as if it were new.

_NAMED = 20


class LeakageError(UserError):
    """Records to be scored are known to the index or the training set; `ids` names them all."""

    def __init__(self, known: Sequence[tuple[str, str]]) -> None:
        self.ids = tuple(id for id, _ in known)
        shown = "\n".join(f"  {id}: {why}" for id, why in known[:_NAMED])
        more = f"\n  and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
        super().__init__(
            f"{len(known)} of the given records can't be scored as held-out data:\n{shown}{more}\n",
            "Add --cross-validate to score them out of fold (except those that the encoder was trained on), "
            "or --skip-known to score only the others.",
        )


def known_records(
    scored: Iterable[Prepared], shipped: Iterable[Prepared], judge: Learned
) -> list[tuple[str, str]]:
    """(id, why) of each scored record that the judge learned from or that ships, or nearly does."""
    ships = Learned.of(fingerprints(p.reading for p in shipped))
    out = []
    for record in scored:
        why = judge.knows(record.reading) or ships.knows(record.reading)
        if why:
            out.append((record.record.report.id, why))
    return out


def guard(benchmark: Benchmark, judge: Learned, *, skip: bool = False) -> Benchmark:
    """The benchmark when nothing scored is known; LeakageError otherwise, or without those when `skip`.

    A given record that ships word for word is known, too. UserError when skipping leaves nothing.
    """
    shipped = [case.prepared for case in benchmark.cases if not _is_given(case)]
    known = known_records([c.prepared for c in benchmark.scored], shipped, judge)
    if not known:
        return benchmark
    if not skip:
        raise LeakageError(known)
    return _without(benchmark, {id for id, _ in known})


def _without(benchmark: Benchmark, ids: set[str]) -> Benchmark:
    left = tuple(_unscored(case) if _known(case, ids) else case for case in benchmark.cases)
    left = tuple(case for case in left if case.scored or not _is_given(case))
    if not any(case.scored for case in left):
        raise UserError(
            "All records are in the training data.", "Use records that distriage was not trained on."
        )
    return Benchmark(left, benchmark.types_only)


def untaught(benchmark: Benchmark, encoder: Learned) -> Benchmark:
    """The benchmark without scored records that the encoder was taught, or nearly: no fold teaches it anew.

    UserError when nothing is left.
    """
    taught = {c.prepared.record.report.id for c in benchmark.scored if encoder.knows(c.prepared.reading)}
    return _without(benchmark, taught) if taught else benchmark


def _known(case: EvalCase, ids: set[str]) -> bool:
    return case.scored and case.prepared.record.report.id in ids


def _unscored(case: EvalCase) -> EvalCase:
    return replace(case, scored=False)


def _is_given(case: EvalCase) -> bool:
    return not case.in_corpus and case.prepared.record.source != "composed"


# Splits that cannot flatter: no group stands on both sides of one.

Split = Literal["cv", "framework", "time"]
FOLDS = 5
LATEST = 0.3
"""Share of a repository's scored cases that counts as its future in the split by time."""
LEAST = 5
"""Frameworks and repositories with fewer scored cases are not left out on their own: one case says nothing."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Positions of the records to learn from and of those to score."""

    name: str
    train: tuple[int, ...]
    test: tuple[int, ...]


def split(cases: Sequence[EvalCase], how: Split, folds: int = FOLDS) -> list[Fold]:
    """The folds of a split. UserError when the records do not allow one."""
    makers = {
        "cv": lambda: _cross(cases, folds),
        "framework": lambda: _framework(cases),
        "time": lambda: _time(cases),
    }
    made = [fold for fold in makers[how]() if fold.test and fold.train]
    if not made:
        raise UserError(f"The records can't be split by {how}.", "Use --splits cv, or add records.")
    return made


def held_out(cases: Sequence[EvalCase]) -> Fold:
    """One fold: all that is scored against all that is not."""
    test = tuple(at for at, case in enumerate(cases) if case.scored)
    return Fold("held out", tuple(at for at, case in enumerate(cases) if not case.scored), test)


def _cross(cases: Sequence[EvalCase], folds: int) -> list[Fold]:
    """Groups dealt out by label, so that every fold has its share of each symptom; the same on every machine."""
    label: dict[str, str] = {}
    for case in cases:
        if case.scored:
            labels = case.prepared.record.labels
            first = (*labels_of(labels, "symptom"), labels.topic or "", labels.type)[0]
            label.setdefault(case.group, f"{labels.type} {first}")
    order = sorted(label, key=lambda group: (label[group], hashlib.sha256(group.encode()).digest()))
    fold_of = {group: at % folds for at, group in enumerate(order)}
    return [
        _fold_without(cases, f"fold {number + 1}", {g for g, f in fold_of.items() if f == number})
        for number in range(min(folds, len(order)))
    ]


def _framework(cases: Sequence[EvalCase]) -> list[Fold]:
    frameworks = sorted({case.framework for case in cases if case.scored and case.framework})
    made = []
    for framework in frameworks:
        test = tuple(at for at, case in enumerate(cases) if case.scored and case.framework == framework)
        if len(test) < LEAST:
            continue
        groups = {cases[at].group for at in test}
        train = tuple(
            at for at, case in enumerate(cases) if case.framework != framework and case.group not in groups
        )
        made.append(Fold(f"without {framework}", train, test))
    return made


def _time(cases: Sequence[EvalCase]) -> list[Fold]:
    """One fold a repository: its latest cases against its earlier ones and all other repositories.

    Order is by opening date where every case of the repository has one, else by issue number, which grows with
    time. Other repositories' cases have no common clock with it; those dated after the cut are left out.
    """
    of: dict[str, list[int]] = defaultdict(list)
    for at, case in enumerate(cases):
        repository, _, number = case.prepared.record.report.id.lower().rpartition("#")
        if number.isdigit() and repository != "composed":
            of[repository].append(at)
    made = []
    for repository, members in sorted(of.items()):
        scored = [at for at in members if cases[at].scored]
        if len(scored) < LEAST:
            continue
        dated = all(cases[at].opened for at in members)
        key = {at: _moment(cases[at], dated) for at in members}
        ordered = sorted(scored, key=key.__getitem__)
        cut = ordered[-max(1, round(LATEST * len(ordered)))]
        test = tuple(at for at in scored if key[at] >= key[cut])
        later = {at for at in members if key[at] >= key[cut]}
        if dated:
            later |= {at for at, c in enumerate(cases) if c.opened and c.opened >= str(cases[cut].opened)}
        groups = {cases[at].group for at in later}
        train = tuple(at for at, c in enumerate(cases) if at not in later and c.group not in groups)
        made.append(Fold(f"{repository} from {cases[cut].opened if dated else key[cut][1]}", train, test))
    return made


def _moment(case: EvalCase, dated: bool) -> tuple[str, int]:
    number = int(case.prepared.record.report.id.rpartition("#")[2])
    return (str(case.opened), number) if dated else ("", number)


def _fold_without(cases: Sequence[EvalCase], name: str, groups: set[str]) -> Fold:
    test = tuple(at for at, case in enumerate(cases) if case.scored and case.group in groups)
    return Fold(name, tuple(at for at, case in enumerate(cases) if case.group not in groups), test)
