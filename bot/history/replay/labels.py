"""How a repository's own labels would have been set, had they been learned in time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.history.label_store import Labelled
from bot.history.labels import examples_of
from eval.labels import IN_TIME, STEPS, UNDATED, figures, forward, is_dated
from knowledge.history.head_learner import LEAST_EXAMPLES

_BY_THEN = (
    f"In {STEPS} steps, each learned only from issues that were opened before, with the labels that people had set on "
    "them by then."
)
_AT_ONCE = f"{IN_TIME} When labels were set is not known, so those set later taught, too."


@dataclass(frozen=True, slots=True)
class LabelRow:
    """How a label did; shares with their intervals, in words."""

    label: str
    set: int
    precision: str
    recall: str
    silent: str
    worth_it: bool
    """Whether it should be switched on."""
    span: tuple[float, float, float] | None
    """Precision and its interval (value, low, high); None = never set."""


@dataclass(frozen=True, slots=True)
class LabelSummary:
    """How a repository's own labels would have been set."""

    issues: int
    """With labels that people set."""
    tried: int
    how: str
    """What was learned from, as a sentence."""
    from_template: int
    """Issues that came with a label."""
    precision: str
    share: str
    rows: list[LabelRow]

    @property
    def sentences(self) -> list[str]:
        """What stands above the table."""
        known = f"{self.issues} issues with labels that people set"
        if not self.rows:
            return [f"{known}; a label needs {LEAST_EXAMPLES}. Nothing to learn."]
        came = [f"{self.from_template} came with a label of their template, which counts for nothing."]
        return [
            f"{known}, {self.tried} of them tried. {self.how}",
            f"Of the labels set, people had set {self.precision}. Share of the issues with a label set: {self.share}.",
            *(came if self.from_template else []),
        ]

    @property
    def good(self) -> list[LabelRow]:
        """The labels that are worth switching on."""
        return [row for row in self.rows if row.worth_it]

    @property
    def only(self) -> str:
        """Those as a list of the configuration file."""
        return json.dumps([row.label for row in self.good], ensure_ascii=False)


def labels_summary(issues: Sequence[Labelled], since: datetime | None = None) -> LabelSummary:
    """How labels would have been set from `since` on (None: on the newer half), by heads learned at each step anew.

    What is right is what people set in the end; what is learned from is what they had set by then.
    """
    examples = examples_of(issues)
    dated = is_dated(examples)
    # An export gives no name and no time: its labels are as old as their issues.
    timed = any(change.by for issue in issues for change in issue.changes)
    judged = forward(examples, since=since, known_at=lambda moment: examples_of(issues, moment))
    found = figures(judged, dated)
    rows = [
        LabelRow(
            label=one.label,
            set=one.precision.n,
            precision=str(one.precision),
            recall=str(one.recall),
            silent=f"{one.silent:.0%}",
            worth_it=one.worth_it,
            span=None if one.precision.value is None else (
                one.precision.value, one.precision.low or 0.0, one.precision.high or 0.0
            ),
        )
        for one in found.labels
    ]  # fmt: skip
    return LabelSummary(
        issues=len(examples),
        tried=found.issues,
        how=UNDATED if not dated else _BY_THEN if timed else _AT_ONCE,
        from_template=sum(bool(one.given) for one in examples),
        precision=str(found.precision),
        share=str(found.share),
        rows=rows,
    )
