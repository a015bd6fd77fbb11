"""What a replay says to switch on, with the figures that speak for it, and the lines that do so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bot.history.replay.comments import Failures
from bot.history.replay.labels import LabelSummary
from eval.history import Figures
from eval.labels import LEAST_SET
from knowledge.history.head_learner import TARGET_PRECISION

Verdict = Literal["switch on", "read first", "leave off"]
_COMMENTS = "comment_on: findings"
_NO_EARLIER = "# sections: [evidence, fixes, missing, script]  # uncomment to leave earlier issues out"


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that can be switched on, and what speaks for it."""

    what: str
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class Advice:
    """What to write into `.github/distriage.yml`."""

    choices: list[Choice]
    proven: str
    """Lines that the figures bear out; "" = none."""
    agreed: str
    """Lines for who has read the comments and agrees with them; "" = nothing to read."""


def advice_of(labels: LabelSummary | None, earlier: Figures, failures: Failures) -> Advice:
    """`earlier` are the figures of earlier issues at the threshold in use."""
    choices = [_of_labels(labels), _of_earlier(earlier), _of_failures(failures)]
    own = bool(labels and labels.good)
    only = f"own_labels:\n  only: {labels.only}" if labels and own else ""
    speaks = any(choice.verdict != "leave off" for choice in choices[1:])
    sure = choices[1].verdict == "switch on" and choices[2].verdict == "leave off"
    comments = _lines(f"mode: {'both' if own else 'comment'}", _COMMENTS, only)
    proven = comments if sure else _lines("mode: label", only) if own else ""
    spare = _NO_EARLIER if choices[1].verdict == "read first" else ""
    return Advice(choices, proven, _lines(comments, spare) if speaks and not sure else "")


def _lines(*parts: str) -> str:
    return "\n".join(filter(None, parts))


def _of_labels(labels: LabelSummary | None) -> Choice:
    what = "Own labels"
    if labels is None or not labels.rows:
        return Choice(what, "leave off", "No label has been set often enough to learn from.")
    if not labels.good:
        told = f"No label was right on {TARGET_PRECISION:.0%} of at least {LEAST_SET} issues."
        return Choice(what, "leave off", told)
    told = "; ".join(f"{row.label}: {row.precision} of {row.set} were right" for row in labels.good)
    return Choice(what, "switch on", f"{told}.")


def _of_earlier(found: Figures) -> Choice:
    what, shown = "Earlier issues with the same failure", found.precision.n
    if not shown:
        return Choice(what, "leave off", f"None would have been named below {found.reports} issues.")
    right = found.precision
    told = (
        f"{count_of(shown, 'match', 'matches')} below {count_of(found.commented, 'issue')}; people marked {right} of "
        f"them as the same, and of the issues with a marked one, {found.coverage} would have been shown it."
    )
    if shown >= LEAST_SET and right.value is not None and right.value >= TARGET_PRECISION:
        return Choice(what, "switch on", told)
    return Choice(what, "read first", f"{told} Matches that nobody marked may be right.")


def _of_failures(found: Failures) -> Choice:
    what = "Known failures"
    old = (
        f" {count_of(found.unknown, 'issue was', 'issues were')} read by an older version and left out. "
        "To read them again, run bot backfill --again."
        if found.unknown
        else ""
    )
    if not found.looked:
        return Choice(what, "leave off", f"No issue could be looked at yet.{old}")
    if not (found.named or found.conflicts):
        return Choice(what, "leave off", f"None would have been named below {found.looked} issues.{old}")
    told = f"{found.said} Nobody marks these, so only reading tells how many are right.{old}"
    return Choice(what, "read first", told)


def count_of(n: int, one: str, more: str = "") -> str:
    """A number with its noun."""
    return f"{n} {one if n == 1 else more or one + 's'}"
