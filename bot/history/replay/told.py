"""A replay as Markdown, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.history.replay.advice import Advice, count_of
from bot.history.replay.comments import Comment, Failures
from bot.history.replay.labels import LabelSummary
from bot.history.replay.summary import Summary

NOT_IN_IT = (
    "Not in it: requests for missing information, what an LLM adds, logs that were posted later. "
    "The catalog is today's. Where an issue's text isn't kept, its comment lacks the line that it would quote."
)
"""What else a comment may say, and what else the replay doesn't know."""


def told(made: Summary, comments: int) -> str:
    """The replay; `comments` are listed at most."""
    lines = [
        f"# {made.heading}",
        "",
        f"{made.name}: {said(made)}",
        "",
        "## What to switch on",
        "",
        *_advice(made.advice),
        "",
        "## Comments that would have been written",
        "",
        *_comments(made, comments),
        "## Known failures",
        "",
        *_failures(made.failures),
        "",
        "## Labels",
        "",
        *(_labels(made.labels) if made.labels else ["No labels are kept."]),
        "",
        "## Earlier issues, by threshold",
        "",
        *_thresholds(made),
    ]
    return "\n".join(lines) + "\n"


def said(made: Summary) -> str:
    """The first sentences."""
    opened = f"{count_of(made.reports, 'issue was', 'issues were')} opened since."
    if made.before:
        opened += f" {made.before} from before, too, could be named as earlier ones."
    return (
        f"{opened} {made.commented} would have got a comment, {made.spoken}; on the others, distriage would have been "
        "silent."
    )


def marks(made: Summary) -> str:
    """What people's marks are good for."""
    return (
        f"{made.with_earlier} of {made.reports} issues have an earlier one that people marked as the same. Many are "
        "never marked, so the share marked is a lower bound of precision."
    )


def _advice(advice: Advice) -> Iterator[str]:
    for choice in advice.choices:
        yield f"- {choice.what}: **{choice.verdict}**. {choice.reason}"
    for intro, config in (
        ("The figures bear out these lines of `.github/distriage.yml`:", advice.proven),
        ("If you have read the comments and agree with them:", advice.agreed),
    ):
        if config:
            yield from ("", intro, "", "```yaml", config, "```")


def _comments(made: Summary, most: int) -> Iterator[str]:
    if not made.comments:
        yield from ("None.", "")
    for one in made.comments[:most]:
        yield from _comment(one)
    left = made.commented - len(made.comments[:most])
    if left and most:
        yield from (f"... and {left} older ones. `--comments N` lists more.", "")
    if made.comments:
        yield from (NOT_IN_IT, "")


def _comment(one: Comment) -> Iterator[str]:
    yield f"### {' '.join(filter(None, [one.day, one.issue.name]))}: {one.issue.title}"
    yield from ("", *([one.issue.url, ""] if one.issue.url else []))
    for line in one.text.splitlines():
        yield f"> {line}".rstrip()
    yield from ("", " ".join([f"({one.about})", *one.later]), "")


def _failures(found: Failures) -> Iterator[str]:
    yield found.said
    if found.unknown:
        yield f"{found.unknown} more were read by an older version: `bot backfill --again` reads them anew."
    if found.rows:
        yield from ("", "| known failure | issues | newest |", "|---|---|---|")
    for row in found.rows:
        newest = ", ".join(issue.name for issue in row.issues[:5])
        yield f"| {_cell(row.title)} (`{row.id}`) | {row.count} | {_cell(newest)} |"


def _labels(labels: LabelSummary) -> Iterator[str]:
    yield from labels.sentences
    if labels.rows:
        yield from ("", "| label | set | precision | recall | silent | |", "|---|---|---|---|---|---|")
    for row in labels.rows:
        verdict = "switch on" if row.worth_it else ""
        yield f"| {_cell(row.label)} | {row.set} | {row.precision} | {row.recall} | {row.silent} | {verdict} |"


def _thresholds(made: Summary) -> Sequence[str]:
    return [
        marks(made),
        "",
        "| threshold | issues with something shown | matches that people marked | marked issues reached |",
        "|---|---|---|---|",
        *(f"| {row.name} | {row.commented} | {row.precision} | {row.coverage} |" for row in made.rows),
        "",
        f"In use: P >= {made.now:.2f}. "
        + (
            "Too few marks for a threshold of its own."
            if made.own is None
            else "`--fit` uses the one fitted to all marks."
        ),
    ]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
