"""What resolved a closed issue: the commit or pull request that closed it, and what its author or a maintainer said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import re2

from bot.github.commands import is_command
from bot.github.ports import Closing, Comment, GitHub, Issue, Outcome, Ports
from bot.github.records import IssueRef, Resolution
from bot.github.thread import role_of
from bot.reports.additions import unquoted
from knowledge.text.quote import clean, shorten

MOST_CHARS = 1000
AT_ONCE = timedelta(minutes=1)
"""Between a comment and the closing that it belongs to: "Close with comment" makes two events."""
_SENTENCE = re2.compile(r"(?:[^.!?\n]|[.!?][^\s])+[.!?]?")
_FIXED = re2.compile(
    r"(?i)\b(?:fixed|solved|resolved|addressed)\s+(?:it\s+|this\s+)?(?:by|in|with|via|after|when)\b"
    r"|\b(?:fixed|fixes|solved|solves|resolved|resolves)\s+(?:the|my|our|this|it)\b"
    r"|\b(?:cause|culprit|problem|issue|reason|fix|solution|mistake)\s+(?:was|turned out)\b|\bturned out\b"
    r"|\bworks?(?: now| again)*(?: fine)? (?:after|with|once|when|since)\b|\bdid the trick\b"
)
_NOTHING = re2.compile(
    r"(?i)\binactiv|\bstale\b|\bno (?:response|reply|answer|activity)\b|\bduplicate of\b"
    r"|\breopen\b|\b(?:can ?not|can't) reproduce\b"
)


def note_resolution(github: GitHub, ports: Ports, ref: IssueRef) -> Outcome:
    """Keep what resolved the issue as it stands closed now; nothing is written to it. Doing it twice is the same."""
    if ports.store.last_triage(ref) is None:
        return Outcome("ignored", "never_triaged", ref)
    issue = github.issue(ref)
    if issue.open or issue.closed_at is None:
        return Outcome("noted", "open_again", ref)
    found = resolution_of(issue, github.closing(ref, issue.closed_at), github.comments(ref))
    ports.store.save_resolution(ref, found)
    return Outcome(
        "noted", "resolution" if found.commit or found.pull_request or found.said else "closed", ref
    )


def resolution_of(issue: Issue, closing: Closing, comments: Sequence[Comment]) -> Resolution:
    """The resolution of a closed issue. Pure.

    A comment counts when its author or a maintainer says in it what it was: the newest; else the one that the issue
    was closed with, unless it says only why nothing was done.
    """
    assert issue.closed_at is not None
    told = [
        (comment, text)
        for comment in comments
        if not comment.author_is_bot
        and not is_command(comment.body)
        and role_of(comment, issue.author) != "another reporter"
        and (text := unquoted(comment.body).strip())
    ]
    fixed = [one for one in told if says_what_it_was(one[1])]
    last = [one for one in told if _closes(one[0], issue, closing) and not _NOTHING.search(one[1])]
    found = Resolution(
        issue.closed_at, issue.state_reason, closing.by, closing.commit[:40], closing.pull_request[:200]
    )
    for comment, text in (fixed or last)[-1:]:
        said = shorten(clean(text), MOST_CHARS)
        found = replace(found, said=said, said_by=comment.author, role=role_of(comment, issue.author))
    return found


def says_what_it_was(text: str) -> bool:
    """Whether a sentence of the text, no question, names the cause or the cure."""
    return any(_FIXED.search(sentence) and "?" not in sentence for sentence in _SENTENCE.findall(text))


def _closes(comment: Comment, issue: Issue, closing: Closing) -> bool:
    if comment.created_at is None or issue.closed_at is None:
        return False
    return comment.author == closing.by and abs(comment.created_at - issue.closed_at) <= AT_ONCE
