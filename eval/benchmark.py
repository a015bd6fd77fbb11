"""The records of an evaluation: what may be learned from, and what is scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from embeddings.encoder import Encoder
from eval.grouping import groups_of
from eval.protocol import SCORED
from knowledge.cases import load_cases
from knowledge.errors import DataError
from knowledge.judging.axes import axis_ids, labels_of
from knowledge.signatures import SignatureTable
from knowledge.taxonomy import load_taxonomy
from knowledge.training.items import Prepared, prepare
from knowledge.training.records import TrainingRecord, labelled_records, read_jsonl, shipped_records

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
        raise DataError("The files contain no records.", "Use files of labelled records, one per line.")
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
                f"{file}: {record.report.id}: {unknown[0]!r} is not a valid {axis} id.",
                "`bot taxonomy` lists all ids.",
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
