"""How well known failures are found: the matcher as it ships, on cases labelled with the entries that apply.

The matcher learns from none of the shipped benchmark's cases, so they are scored as they are; real reports that it
learned from are scored out of fold (`python -m knowledge.training.findings --dry-run`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eval.metrics import Estimate, wilson
from eval.origin import Part
from knowledge.engine import Knowledge, examine
from knowledge.findings.failure import cited_issues, load_catalogue
from knowledge.report import Report, issue_of
from knowledge.training.records import FailureLabel, failure_labels

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FindingScore:
    """Shares with their 95 % interval."""

    cases: int
    with_entry: int
    coverage: Estimate
    """Cases on which a finding is shown unasked."""
    precision: Estimate
    """Of the findings shown, those that apply."""
    recall_at_3: Estimate
    """Of the cases to which an entry applies, those that have it among the first three candidates."""
    helped: Estimate
    """Cases with at least one right finding shown."""
    agreement: float
    """Share of cases on which both passes name a common entry, or both none."""


def score_findings(
    reports: Iterable[Report], knowledge: Knowledge, progress: Callable[[int], None] = lambda _: None
) -> FindingScore | None:
    """Score the shipped matcher on those reports that have a label; None when none has."""
    known = failure_labels()
    cited = cited_issues(load_catalogue().values())
    rows: list[tuple[str, bool, bool, bool, bool]] = []
    labels = []
    for report in reports:
        progress(1)
        label = known.get(report.id)
        # A report that an entry was written from proves nothing.
        if label is None or issue_of(report.id) in cited:
            continue
        matches = examine(report, knowledge).matches
        sure = [m.failure.id for m in matches if m.sure]
        top = {m.failure.id for m in matches[:3]}
        labels.append(label)
        rows.append(
            (
                report.id,
                bool(sure),
                bool(sure and sure[0] in label.failures),
                bool(top & label.failures),
                bool(label.failures),
            )
        )
    if not rows:
        return None
    shown, right, near, able = (np.array([row[n] for row in rows], float) for n in range(1, 5))
    return FindingScore(
        cases=len(rows),
        with_entry=int(able.sum()),
        coverage=_share(shown),
        precision=_share(right[shown > 0]),
        recall_at_3=_share(near[able > 0]),
        helped=_share(right),
        agreement=agreement(labels),
    )


def _share(hits: Array) -> Estimate:
    return wilson(int(hits.sum()), len(hits))


def agreement(labels: Iterable[FailureLabel]) -> float:
    """Share of cases on which both passes name a common entry, or both none."""
    same = [bool(a & b) or not (a | b) for label in labels for a, b in [label.passes[:2]]]
    return sum(same) / max(len(same), 1)


def findings_table(score: FindingScore) -> str:
    """The score as Markdown."""
    return (
        f"Known failures: {score.cases} cases, of which {score.with_entry} show one by two annotation passes "
        f"(which agree on {score.agreement:.2f}). A finding is shown on {score.coverage} and right in "
        f"{score.precision} of these; {score.recall_at_3} of the failures are among the first three candidates; "
        f"{score.helped} of the cases get a right finding.\n"
    )


def findings_part(score: FindingScore) -> Part:
    """The score as a table of the report's page."""
    return Part(
        title="Known failures",
        notes=[
            f"{score.cases} cases, of which {score.with_entry} show a known failure by two annotation passes, "
            f"which agree on {score.agreement:.2f}."
        ],
        head=["figure", "share (95 % interval)", "of"],
        rows=[
            ["a finding is shown", str(score.coverage), f"{score.coverage.n} cases"],
            ["it is right", str(score.precision), f"{score.precision.n} findings"],
            [
                "among the first three candidates",
                str(score.recall_at_3),
                f"{score.recall_at_3.n} known failures",
            ],
            ["cases with a right finding", str(score.helped), f"{score.helped.n} cases"],
        ],
    )
