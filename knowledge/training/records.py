"""Labelled reports to learn from: shipped cases, composed ones, and real texts that are not part of the project."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from knowledge.cases import Case, load_cases
from knowledge.errors import DataError, reason
from knowledge.judging.axes import Judged, labels_of
from knowledge.report import Report, issue_of
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import CaseLabels

# Which entries of the failure catalogue apply to which cases: ids and labels alone, by two independent passes.

LABELS = Path(__file__).with_name("failure_labels.jsonl")


@dataclass(frozen=True, slots=True)
class FailureLabel:
    """The entries that apply to a case; empty = none of the catalogue."""

    failures: frozenset[str]
    passes: tuple[frozenset[str], ...]


@cache
def failure_labels() -> Mapping[str, FailureLabel]:
    """Labels by case id."""
    rows = map(json.loads, LABELS.read_text("utf-8").splitlines())
    return {
        row["id"]: FailureLabel(frozenset(row["failures"]), tuple(map(frozenset, row["passes"])))
        for row in rows
    }


SOFT_LABELS = Path(__file__).parent / "soft_labels.jsonl"
"""One line a text: {"id", "symptom": {id: probability}, "cause": {...}, "fix": {...}}."""
SHARE = 0.5
"""Of the second reader in what is learned; the other half is the label's."""

Target = Mapping[str, float]


def target(record: TrainingRecord, axis: Judged) -> Target:
    """What is to be learned on an axis: id to probability, summing to 1; empty when nothing is known."""
    right = labels_of(record.labels, axis)
    hard = {id: 1 / len(right) for id in right}
    soft = _soft(record, axis)
    if not soft or not hard:
        return hard or soft
    return {
        id: (1 - SHARE) * hard.get(id, 0.0) + SHARE * soft.get(id, 0.0)
        for id in dict.fromkeys([*hard, *soft])
    }


def _soft(record: TrainingRecord, axis: Judged) -> Target:
    told = _all().get(record.report.id, {}) if not record.calibrates and record.labels.type == "fault" else {}
    if axis != "stage":
        return told.get(axis, {})
    stages: defaultdict[str, float] = defaultdict(float)
    for symptom, share in told.get("symptom", {}).items():
        stages[load_taxonomy().stage_of(symptom)] += share
    return stages


@cache
def _all() -> Mapping[str, Mapping[str, Target]]:
    """Shares of each axis sum to 1, whatever rounding left."""
    return {
        row["id"]: {
            axis: {id: share / sum(of.values()) for id, share in of.items()}
            for axis, of in row.items()
            if axis != "id" and of
        }
        for row in read_jsonl(SOFT_LABELS)
    }


COMPOSED = Path(__file__).parent / "composed.jsonl"
COMPOSED_MORE = Path(__file__).parent / "composed_more.jsonl"
"""Composed cases that teach the encoder alone: they brought the heads nothing (docs/evaluation.md)."""
REPORT_LABELS = Path(__file__).parent / "report_labels.jsonl"
"""Labels, of one annotation pass, of real reports whose texts are not shipped; they teach the encoder alone."""
HUMAN = "human"
WEIGHT = {
    "human": 1.0,
    "agreed": 1.0,
    "pass": 0.8,
    "annotated": 0.6,
    "annotated_full": 0.7,
    "composed": 0.6,
    "type": 0.8,
    "report_labels": 0.6,
}
"""How much an item of each source counts; set once by how far its labels can be trusted, not searched."""


@dataclass(frozen=True, slots=True)
class TrainingRecord:
    """A report with labels; `calibrates` marks labels good enough to set probabilities and thresholds by."""

    report: Report
    labels: CaseLabels
    weight: float
    calibrates: bool
    source: str

    @property
    def group(self) -> str:
        """What is left out together: the issue, whatever it was told in."""
        return issue_of(self.report.id)


def shipped_records() -> list[TrainingRecord]:
    """What ships with the project: the corpus and the composed cases. `bot eval` learns from these alone."""
    return [*(_of_case(case) for case in load_cases()), *composed_records()]


def composed_records(file: Path = COMPOSED) -> list[TrainingRecord]:
    """Cases composed for training after no particular report; they are never shown as neighbours."""
    return [
        TrainingRecord(
            Report(f"{file.stem}#{number}", row["title"], row["body"]),
            CaseLabels.model_validate(row["labels"]),
            WEIGHT["composed"],
            False,
            "composed",
        )
        for number, row in enumerate(read_jsonl(file), start=1)
    ]


def tuning_records(shared: Path) -> tuple[list[TrainingRecord], list[TrainingRecord]]:
    """What the encoder learns from (composed cases, reports annotated for training), and what evaluations score.

    No fold teaches the encoder anew, so it must not see the latter, or nearly the same.
    Raises DataError when the folder lacks the real reports.
    """
    shipped, real = shipped_records(), real_records(shared)
    learned = [record for record in shipped if record.source in ("composed", "annotated")]
    learned += composed_records(COMPOSED_MORE)
    learned += [record for record in real if record.source == "annotated_full"]
    scored = [record for record in [*shipped, *real] if record.calibrates and record.source != "type"]
    return learned + _labelled_reports(shared), scored


def _labelled_reports(shared: Path) -> list[TrainingRecord]:
    labels = {row["id"]: CaseLabels.model_validate(row["labels"]) for row in read_jsonl(REPORT_LABELS)}
    return [
        TrainingRecord(
            Report(row["id"], row["title"], row["body"]),
            labels[row["id"]],
            WEIGHT["report_labels"],
            False,
            "report_labels",
        )
        for row in read_jsonl(shared / "real" / "reports.jsonl.gz")
        if row["id"] in labels
    ]


def real_records(shared: Path) -> list[TrainingRecord]:
    """Real reports in full text from the folder of data beside the repository; their texts are never shipped.

    Raises DataError when the folder lacks them.
    """
    real = shared / "real"
    if not (real / "labelled.jsonl").exists():
        raise DataError(
            f"Can't find real/labelled.jsonl in {shared}.",
            "Pass the folder that contains real/ with --shared.",
        )
    out = [_of_row(row, WEIGHT["agreed"], True, "agreed") for row in read_jsonl(real / "labelled.jsonl")]
    taken = {record.group for record in out}
    known = {issue_of(case.id): case for case in load_cases() if _is_annotated(case)}
    for row in read_jsonl(real / "reports.jsonl.gz"):
        case = known.get(issue_of(row["id"]))
        if case is not None and issue_of(row["id"]) not in taken:
            report = Report(row["id"], row["title"], row["body"])
            out.append(TrainingRecord(report, case.labels, WEIGHT["annotated_full"], False, "annotated_full"))
    return [*out, *type_records(real / "issue_types.jsonl.gz")]


def type_records(file: Path) -> list[TrainingRecord]:
    """Issues of which only the type is known (NLBSE'24 training set)."""
    return [
        TrainingRecord(
            Report(f"{row['repo']}#t{number}", row["title"], row["body"] or ""),
            CaseLabels(type=row["type"]),
            WEIGHT["type"],
            True,
            "type",
        )
        for number, row in enumerate(read_jsonl(file), start=1)
    ]


def labelled_records(file: Path) -> list[TrainingRecord]:
    """Any file of labelled records in the format of the cases, or of issues with a `type`.

    Raises DataError naming file and line when a record does not fit.
    """
    rows = list(read_jsonl(file))
    if rows and "labels" not in rows[0] and "type" in rows[0]:
        return type_records(file)
    return [
        _of_row(row, WEIGHT["agreed"], True, "given", where=f"{file}:{n}")
        for n, row in enumerate(rows, start=1)
    ]


_ONE_PER_LINE = "The file must contain one JSON object per line (UTF-8)."


def read_jsonl(file: Path) -> Iterator[dict[str, Any]]:
    """Records of a .jsonl or .jsonl.gz file. Raises DataError with file and line for what is not a JSON object."""
    number = 0
    try:
        with (
            gzip.open(file, "rt", encoding="utf-8")
            if file.suffix == ".gz"
            else file.open(encoding="utf-8") as lines
        ):
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise DataError(f"{file}, line {number}: not a JSON object.", _ONE_PER_LINE)
                    yield row
    except json.JSONDecodeError as error:
        raise DataError(f"{file}, line {number}: not valid JSON.", _ONE_PER_LINE) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{file} isn't UTF-8 text.", _ONE_PER_LINE) from error
    except OSError as error:
        raise DataError(f"Can't read {file}: {reason(error)}.", "Check the path.") from error


def _is_annotated(case: Case) -> bool:
    return case.url != "" and not case.label_source.startswith(HUMAN) and "own retelling" in case.label_source


def _of_case(case: Case) -> TrainingRecord:
    human = case.label_source.startswith(HUMAN)
    annotated = _is_annotated(case)
    kind = "human" if human else "annotated" if annotated else "pass"
    return TrainingRecord(
        Report(case.id, case.title, case.body), case.labels, WEIGHT[kind], not annotated, kind
    )


def _why(error: KeyError | AttributeError | ValidationError) -> str:
    """What a record lacks or gets wrong, by field."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"labels.{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"{error} is missing" if isinstance(error, KeyError) else "labels must be an object"


def _of_row(
    row: dict[str, Any], weight: float, calibrates: bool, source: str, where: str = ""
) -> TrainingRecord:
    try:
        labels = {
            key: [] if value is None and key not in ("distributed", "topic", "subtopic") else value
            for key, value in row["labels"].items()
        }
        return TrainingRecord(
            Report(str(row["id"]), str(row.get("title") or ""), str(row.get("body") or "")),
            CaseLabels.model_validate(labels),
            weight,
            calibrates,
            source,
        )
    except (KeyError, AttributeError, ValidationError) as error:
        raise DataError(
            f"{where or row.get('id')}: not a labeled record: {_why(error)}.",
            "See docs/evaluation.md for the format.",
        ) from error
