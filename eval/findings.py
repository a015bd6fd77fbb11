"""The axis `failure`: how well known failures are found, on reports labelled with the entries that apply, or none.

    python -m eval.findings          how far the two passes agree that labelled them

The matcher as it ships is scored. It learned from none of the shipped benchmark's cases; real reports that it learned
from, or that an entry cites, are left out and counted.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from eval.benchmark import SHIPPED_SCORED, EvalCase
from eval.metrics import Estimate, wilson
from eval.origin import Part
from eval.summary import table
from knowledge.concluding import MAX_FINDINGS
from knowledge.engine import Knowledge, conclude, examine
from knowledge.findings.failure import cited_issues, load_catalogue
from knowledge.findings.matcher import learned_from
from knowledge.report import Report, issue_of
from knowledge.training.records import FailureLabel, failure_labels, shipped_records
from knowledge.training.reliability import Reliability, reliability

AXIS = "failure"
REAL, RETOLD = "real", "retold"
"""Reports as they were written, and cases in our own words after public issues."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A labelled report as it was triaged; ids of known failures."""

    label: FailureLabel
    candidates: tuple[tuple[str, float], ...]
    """Each with its probability, the likeliest first."""
    sure: tuple[str, ...]
    """Those that match surely, before anything that speaks against saying so."""
    said: tuple[str, ...]
    """Findings that a comment holds though nobody asked."""


@dataclass(frozen=True, slots=True)
class FindingScore:
    """Shares with their 95 % interval."""

    cases: int
    with_entry: int
    coverage: Estimate
    """Cases on which a finding is said unasked."""
    precision: Estimate
    """Of the findings said, those that apply."""
    recall_at_3: Estimate
    """Of the cases to which an entry applies, those that have it among the first three candidates."""
    helped: Estimate
    """Cases with at least one right finding said."""
    sure: Estimate
    """Cases on which an entry matches surely, said or not."""
    sure_precision: Estimate
    """Of these matches, those that apply."""
    top1: Estimate
    """Of the cases to which an entry applies, those of which it is the first candidate."""
    probabilities: Reliability | None
    """Of the candidates that may be shown to whoever asks."""
    agreement: float
    """Share of cases on which both passes name a common entry, or both none."""


@dataclass(frozen=True, slots=True)
class FailureAxis:
    """The axis `failure` of one evaluation: scores of what was scored, and what was left out."""

    scores: Mapping[str, FindingScore]
    """By origin (REAL, RETOLD), where there is any."""
    learned: int
    """Reports left out because the matcher learned from them."""
    cited: int
    """Reports left out because an entry was written from them."""

    def figures(self) -> dict[str, Any]:
        """All of it for JSON."""
        return {
            **{origin: asdict(score) for origin, score in self.scores.items()},
            "left_out": {"learned": self.learned, "cited": self.cited},
        }


def reports_of(cases: Iterable[EvalCase]) -> list[tuple[Report, bool]]:
    """The reports of those cases that have a label, each with whether it is retold."""
    labels = failure_labels()
    records = [(case.prepared.record, case.opened or "") for case in cases]
    return [
        (replace(record.report, opened=opened), record.source in SHIPPED_SCORED)
        for record, opened in records
        if record.report.id in labels
    ]


def score_failures(
    reports: Iterable[tuple[Report, bool]],
    knowledge: Knowledge,
    progress: Callable[[int], None] = lambda _: None,
) -> FailureAxis:
    """Score what ships on labelled reports, each with whether it is retold."""
    labels, taught = failure_labels(), learned_from()
    cited = cited_issues(load_catalogue().values())
    seen: dict[str, list[Seen]] = {REAL: [], RETOLD: []}
    left_out: Counter[str] = Counter()
    for report, retold in reports:
        if issue_of(report.id) in cited:
            left_out["cited"] += 1
        elif not retold and issue_of(report.id) in taught:
            left_out["learned"] += 1
        else:
            seen[RETOLD if retold else REAL].append(see(report, labels[report.id], knowledge))
        progress(1)
    scores = {origin: score_seen(group) for origin, group in seen.items() if group}
    return FailureAxis(scores, left_out["learned"], left_out["cited"])


def see(report: Report, label: FailureLabel, knowledge: Knowledge) -> Seen:
    """Triage a labelled report as it ships."""
    examined = examine(report, knowledge)
    triage = conclude(examined, knowledge)
    return Seen(
        label=label,
        candidates=tuple((match.failure.id, match.p) for match in examined.matches),
        sure=tuple(match.failure.id for match in examined.matches if match.sure),
        said=tuple(finding.id for finding in triage.findings if finding.sure),
    )


def score_seen(seen: Sequence[Seen]) -> FindingScore:
    """All figures over these reports."""
    able = [s for s in seen if s.label.failures]
    candidates = [(p, id in s.label.failures) for s in seen for id, p in s.candidates]
    return FindingScore(
        cases=len(seen),
        with_entry=len(able),
        coverage=_share(bool(s.said) for s in seen),
        precision=_share(id in s.label.failures for s in seen for id in s.said),
        recall_at_3=_share(_among_first(s, MAX_FINDINGS) for s in able),
        helped=_share(bool(s.label.failures & {*s.said}) for s in seen),
        sure=_share(bool(s.sure) for s in seen),
        sure_precision=_share(id in s.label.failures for s in seen for id in s.sure),
        top1=_share(_among_first(s, 1) for s in able),
        probabilities=reliability([p for p, _ in candidates], [hit for _, hit in candidates]),
        agreement=agreement(s.label for s in seen).same,
    )


def _among_first(seen: Seen, count: int) -> bool:
    return bool(seen.label.failures & {id for id, _ in seen.candidates[:count]})


def _share(hits: Iterable[bool]) -> Estimate:
    counted = list(hits)
    return wilson(sum(counted), len(counted))


# How far the two passes agree.


@dataclass(frozen=True, slots=True)
class Agreement:
    """What two passes over the same cases have in common."""

    cases: int
    same: float
    """Share of cases on which both name a common entry, or both none."""
    kappa: float
    """Cohen's kappa of "shows an entry" against "none"."""
    either: int
    """Cases on which at least one names an entry."""
    common: float
    """Share of these on which both name a common one."""


def agreement(labels: Iterable[FailureLabel]) -> Agreement:
    """Count it."""
    pairs = [label.passes[:2] for label in labels]
    n = max(len(pairs), 1)
    either = [(a, b) for a, b in pairs if a | b]
    common = sum(bool(a & b) for a, b in either)
    first, second = sum(bool(a) for a, _ in pairs) / n, sum(bool(b) for _, b in pairs) / n
    observed = sum(bool(a) == bool(b) for a, b in pairs) / n
    chance = first * second + (1 - first) * (1 - second)
    return Agreement(
        cases=len(pairs),
        same=(len(pairs) - len(either) + common) / n,
        kappa=(observed - chance) / (1 - chance) if chance < 1 else 1.0,
        either=len(either),
        common=common / max(len(either), 1),
    )


def agreement_table() -> str:
    """The agreement on all labelled cases, by origin, as Markdown."""
    labels = failure_labels()
    retold = {one.report.id for one in shipped_records() if one.source in SHIPPED_SCORED}
    groups = {
        REAL: [label for id, label in labels.items() if id not in retold],
        RETOLD: [label for id, label in labels.items() if id in retold],
        "all": list(labels.values()),
    }
    head = ["", "cases", "the same", "kappa, entry or none", "a pass names one", "a common one"]
    rows = []
    for name, own in groups.items():
        found = agreement(own)
        shares = (f"{found.same:.2f}", f"{found.kappa:.2f}", str(found.either), f"{found.common:.2f}")
        rows.append([name, str(found.cases), *shares])
    return table(head, rows) + "\n"


# The axis as it is shown.


def axis_rows(axis: FailureAxis) -> list[list[str]]:
    """Rows of the table of axes (eval/summary.py, DETAILS), one for each origin."""
    return [
        [
            f"{AXIS}, {origin}",
            str(score.cases),
            _plain(score.top1),
            _plain(score.recall_at_3),
            "–",
            _plain(score.coverage),
            _plain(score.precision),
            f"{score.probabilities.ece:.2f}" if score.probabilities else "–",
            *["–"] * 3,
        ]
        for origin, score in axis.scores.items()
    ]


def _plain(share: Estimate) -> str:
    return "–" if share.value is None else f"{share.value:.2f}"


def failures_text(axis: FailureAxis) -> str:
    """The axis in sentences, as Markdown."""
    said = [
        f"Known failures, {origin} reports: {score.cases}, of which {score.with_entry} show one by two annotation "
        f"passes (which agree on {score.agreement:.2f}). A finding is said unasked on {score.coverage}, and "
        f"{score.precision} of what is said is right; {score.recall_at_3} of the failures are among the first three "
        f"candidates; {score.helped} of the reports get a right finding. Before what speaks against saying it, "
        f"an entry matches surely on {score.sure}, right in {score.sure_precision}."
        for origin, score in axis.scores.items()
    ]
    return "\n\n".join([*said, *left_out(axis)]) + "\n"


def left_out(axis: FailureAxis) -> list[str]:
    """What isn't scored and why; nothing where everything is."""
    reasons = {"the matcher learned from them": axis.learned, "an entry was written from them": axis.cited}
    return [f"Not scored on the axis {AXIS}, since {why}: {n}." for why, n in reasons.items() if n]


def failures_part(axis: FailureAxis) -> Part:
    """The axis as a table of the report's page."""
    rows = []
    for origin, score in axis.scores.items():
        p = score.probabilities
        rows += [
            [f"{origin} reports: a finding is said unasked", str(score.coverage), f"{score.cases} reports"],
            ["it is right", str(score.precision), f"{score.precision.n} findings"],
            ["among the first three", str(score.recall_at_3), f"{score.with_entry} known failures"],
            ["reports with a right finding", str(score.helped), f"{score.cases} reports"],
            ["an entry matches surely", str(score.sure), f"{score.cases} reports"],
            ["it applies", str(score.sure_precision), f"{score.sure_precision.n} matches"],
        ]
        if p:
            loss = f"{p.log_loss:.3f}, {p.base_log_loss:.3f} by the base rate"
            rows.append(["log loss of the candidates", loss, f"{p.count} candidates"])
            rows.append(["calibration error", f"{p.ece:.3f}", f"{p.count} candidates"])
    notes = [
        f"{score.cases} {origin} reports, of which {score.with_entry} show a known failure by two annotation passes, "
        f"which agree on {score.agreement:.2f}."
        for origin, score in axis.scores.items()
    ]
    return Part(
        title="Known failures (axis failure)",
        notes=[*notes, *left_out(axis)],
        head=["figure", "share (95 % interval)", "of"],
        rows=rows,
    )


if __name__ == "__main__":
    sys.stdout.write(agreement_table())
