"""From matches to what is shown: findings with the lines they rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import re2

from knowledge.evidence import Reading
from knowledge.findings.failure import Failure, agrees
from knowledge.findings.fitting import Fitted, fit
from knowledge.findings.matcher import Match
from knowledge.findings.unasked import objection
from knowledge.triage import AxisName, Finding, QuotedLine

MAX_FINDINGS = 3
MAX_SURE = 2
LEAST = 0.04
"""Below this probability an entry is not worth a reader's time, even where somebody asks."""
QUOTED_LINES = 2
QUOTE_CHARS = 240


def findings_of(
    matches: Sequence[Match], reading: Reading, given: Mapping[AxisName, Sequence[str]] | None = None
) -> list[Finding]:
    """At most three findings, the most probable first; one whose near miss is likelier is not shown as well.

    `given`: what people set on an axis; an entry that says something else there is left out.
    """
    shown: list[Finding] = []
    # What is said unasked comes first, though something that only sounds like it be likelier.
    matches = sorted(matches, key=lambda match: not match.sure)
    for match in (m for m in matches if agrees(m.failure, given or {})):
        if match.p < LEAST or len(shown) == MAX_FINDINGS:
            break
        confused = any(match.failure.id in _near(f, matches) for f in shown if f.sure)
        if not (confused and not match.lines):
            fitted = fit(match.failure, reading)
            sure = match.sure and sum(f.sure for f in shown) < MAX_SURE
            shown.append(
                _finding(match, fitted, reading, sure=sure and not objection(match, fitted, reading))
            )
    return shown


def _near(finding: Finding, matches: Sequence[Match]) -> tuple[str, ...]:
    return next(m.failure.confused_with for m in matches if m.failure.id == finding.id)


def _finding(match: Match, fitted: Fitted, reading: Reading, *, sure: bool) -> Finding:
    # What is left of an answer that mostly belongs elsewhere makes no sense: then all of it is shown.
    entry = fitted.entry if fitted.whole else match.failure
    return Finding(
        id=entry.id,
        area=entry.area,
        title=entry.title,
        answer=entry.answer,
        p=round(match.p, 4),
        sure=sure,
        lines=_quotes(entry, match.lines, reading),
        held=list(match.held),
        why=list(entry.why),
        check=list(entry.check),
        remedy=list(entry.remedy),
        not_this_when=entry.not_this_when,
        fixed_in=entry.fixed_in,
        sources=[source for source in entry.sources if source.startswith("https://")],
    )


def _quotes(entry: Failure, numbers: Sequence[int], reading: Reading) -> list[QuotedLine]:
    """The telling lines, those of a log before those of an account."""
    by_number = {line.number: line for line in reading.lines}
    quotes = []
    for number in numbers[:QUOTED_LINES]:
        line = by_number.get(number)
        text = reading.report.title if number == 0 else line.text if line else ""
        if text.strip():
            quotes.append(
                QuotedLine(
                    line=max(number, 1),
                    text=around(text, *_span(entry, text), QUOTE_CHARS),
                    role="root",
                    in_title=number == 0,
                    rank=line.rank if line and number else None,
                )
            )
    return quotes


def _span(entry: Failure, text: str) -> tuple[int, int]:
    for pattern in entry.patterns:
        found = re2.compile(pattern).search(text)
        if found:
            return found.start(), found.end()
    return 0, 0


def around(text: str, start: int, end: int, limit: int) -> str:
    """About `limit` characters of a line that hold [start, end), cut between words; a cut shows as "…"."""
    if len(text) <= limit:
        return text.strip()
    left = max(0, min(start - limit // 4, len(text) - limit))
    right = min(len(text), max(end, left + limit))
    if left:
        left = text.find(" ", left, start) + 1 or left
    if right < len(text):
        gap = text.rfind(" ", end, right)
        right = gap if gap > 0 else right
    return f"{'…' if left else ''}{text[left:right].strip()}{'…' if right < len(text) else ''}"
