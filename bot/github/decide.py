"""The decisions about one issue, as pure functions: leave it alone, say something, ask, or stay silent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import re2

from bot.github.commands import is_command
from bot.github.ports import MAINTAINERS, Comment, Issue
from bot.github.records import Noise
from bot.github.repo_config import Mode, RepoConfig
from knowledge.triage import AXES, Axis, AxisName, Triage

_ASKS = re2.compile(
    r"(?i)\b(please|could you|can you)\b.{0,200}\b(provide|share|add|fill|attach|include|post|version|"
    r"logs?|reproduc\w*|environment|template|information)\b"
)


@dataclass(frozen=True, slots=True)
class Say:
    """What the comment is to hold: `finding`, only the missing information (`ask`), or nothing, and why."""

    what: Literal["finding", "ask", "nothing"]
    reason: str


def leave_alone(issue: Issue, config: RepoConfig, repo_open: bool) -> str | None:
    """Why an issue is left alone whatever it says; None when it is not."""
    if not repo_open:
        return "archived"
    if issue.is_pull_request:
        return "pull_request"
    if issue.locked:
        return "locked"
    if not issue.open:
        return "closed"
    if issue.author_is_bot and config.ignore.bots:
        return "bot_author"
    if issue.author.casefold() in {a.casefold() for a in config.ignore.authors}:
        return "ignored_author"
    if {label.casefold() for label in issue.labels} & {label.casefold() for label in config.ignore.labels}:
        return "ignored_label"
    if len(issue.title.strip()) + len(issue.body.strip()) < config.min_length:
        return "too_short"
    return None


def mode_now(config: RepoConfig, repo_on: bool, noise: Noise) -> tuple[Mode, str]:
    """The mode in force and why: switched off or too noisy falls back to shadow."""
    if not repo_on:
        return "shadow", "switched_off"
    if config.mode != "shadow" and noise.dismissed > config.noise.max_dismissed:
        return "shadow", "noise_budget"
    return config.mode, "shadow" if config.mode == "shadow" else "configured"


def claimed(axis: Axis, threshold: float) -> list[str]:
    """The ids an axis claims that are at least so probable, most probable first."""
    return [r.id for r in axis.ranking if r.id in axis.answer and r.p >= threshold]


def what_to_say(
    triage: Triage,
    config: RepoConfig,
    other_bot_asks: bool,
    *,
    asked: bool = False,
    posted: bool = False,
) -> Say:
    """Whether the triage is worth a comment here.

    `asked`: a maintainer wants its best answer; `posted`: one had the drafted answer posted.
    """
    t = config.thresholds
    types = claimed(triage.type, t.type)
    if triage.measured:
        return Say("finding", "diagnostics")
    if any(getattr(triage, axis).by_people for axis in AXES):
        return Say("finding", "set_by_people")
    if triage.scope == "too_little" and "fault" in types and triage.missing and "missing" in config.sections:
        # Only of a report that shows nothing at all a question is worth an e-mail.
        return Say("nothing", "another_bot_asks") if other_bot_asks else Say("ask", "missing_only")
    if triage.same_failure and "cases" in config.sections:
        return Say("finding", "same_failure")
    if triage.scope != "ours":
        return Say("nothing", triage.scope)
    if (posted or config.llm == "comment") and triage.answer is not None and triage.answer.verified:
        return Say("finding", "written_answer")
    if any(f.sure for f in triage.findings):
        return Say("finding", "known_failure")
    if {"feature", "internal"} & set(types) and not asked:
        return Say("nothing", "not_a_report")
    if any(conflict.explains_line is not None for conflict in triage.evidence.conflicts):
        return Say("finding", "version_conflict")
    level = "always" if asked else config.comment_on
    sure: list[AxisName] = ["symptom", "cause"]
    if (
        level != "findings"
        and ("fault" in types or asked)
        and any(claimed(getattr(triage, axis), getattr(t, axis)) for axis in sure)
    ):
        return Say("finding", "claim")
    if level == "always" and "fault" in types:
        return Say("finding", "best_guess")
    return Say("nothing", "nothing_specific")


def other_bot_asks(comments: list[Comment], login: str) -> bool:
    """Whether another bot has already asked the author for something."""
    return any(c.author_is_bot and c.author != login and _ASKS.search(c.body[:20_000]) for c in comments)


def answered_by_maintainer(comments: list[Comment], author: str) -> bool:
    """Whether somebody of the project, other than the author, has already written more than a command to the bot."""
    people = [c for c in comments if c.association in MAINTAINERS and not c.author_is_bot]
    return any(c.author != author and not is_command(c.body) for c in people)
