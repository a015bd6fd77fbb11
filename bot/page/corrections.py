"""A click on the maintainers' page as a correction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from bot.github.records import Correction, TriageRecord
from knowledge.taxonomy import Taxonomy
from knowledge.triage import AXES

BY = "maintainers' page"


def correction_of(
    triage_id: int,
    record: TriageRecord,
    earlier: Sequence[Correction],
    axis: str,
    label: str,
    taxonomy: Taxonomy,
) -> Correction | None:
    """The correction of this triage with `label` on `axis`, besides what was clicked before.

    Its comment id is minus the triage's, which no comment has. None for an unknown axis or label.
    """
    known = next((name for name in AXES if name == axis), None)
    if known is None or label not in taxonomy.ids(known):
        return None
    labels = next((dict(c.labels) for c in earlier if c.comment_id == -triage_id), {})
    labels[known] = (label,)
    return Correction(
        issue=record.issue,
        comment_id=-triage_id,
        by=BY,
        at=datetime.now(UTC),
        labels=labels,
        title=record.title,
        # The report itself is not kept; its decisive lines are in the triage. Without any, its title is the report.
        body="\n".join(line.text for line in record.triage.evidence.lines) or record.title,
    )
