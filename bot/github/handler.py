"""The composition: one delivery in, one outcome out; and the look for what webhooks missed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import re2
import structlog

from bot.gate.rules import GateError
from bot.github.command_run import fold_if_disliked, run_command
from bot.github.events import (
    Afterword,
    Answered,
    CommandGiven,
    Disliked,
    Ignored,
    InstallationChanged,
    IssueLeft,
    IssueText,
    LabelChanged,
    OfIssue,
    Remarked,
    parse,
)
from bot.github.history import forget_repositories, issue_left, keep_up, note_labels, note_left
from bot.github.offline import OfflineGitHub
from bot.github.ports import Closing, Comment, Delivery, GitHub, Issue, Outcome, Ports
from bot.github.records import (
    DraftDecision,
    GitHubError,
    Gone,
    IssueRef,
    LabelFact,
    NotAllowed,
    RepoRef,
    Resolution,
)
from bot.github.thread import is_command, role_of
from bot.github.triage_issue import triage_issue
from bot.github.votes import note_thumbs, thumbs
from bot.reports.additions import unquoted
from knowledge.text.quote import clean, shorten

# What resolved a closed issue: the commit or pull request that closed it, and what its author or a maintainer said.

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


MOST_UPDATES = 20
"""Of one issue, by edits and comments; a maintainer's `/triage` reads it again after that, too."""
_UPDATES = frozenset({"edited", "commented"})


def process(delivery: Delivery, ports: Ports) -> Outcome:
    """Do all the work of a delivery; safe to run again at any time, whatever an earlier run got done.

    Returns when it is done for good. Raises `TryAgain` when it has to run again later, and any other
    error when it cannot be done (then it is a poison delivery). The caller holds the issue's lock.
    """
    event = parse(delivery.event, delivery.payload)
    if isinstance(event, Ignored):
        return Outcome("ignored", event.reason)
    if isinstance(event, InstallationChanged):
        return _installation(event, ports)
    try:
        outcome = _issue(event, ports, delivery.received_at)
        if not isinstance(event, IssueLeft | Disliked):
            keep_up(ports, event.ref, again=_wrote(event) or _passed_by(event, outcome))
        return outcome
    except Gone:
        return Outcome("silent", "gone", event.ref)
    except NotAllowed as error:
        return Outcome("silent", error.why, event.ref)
    except GateError as error:
        # Better no comment than a wrong one.
        return Outcome("silent", "gate_refused", event.ref, detail=tuple(error.violations))


def _wrote(event: OfIssue) -> bool:
    """Whether somebody wrote below the issue, and may have said what it is a duplicate of."""
    if isinstance(event, IssueText):
        return event.action == "commented"
    return isinstance(event, Answered | Remarked | Afterword)


def _passed_by(event: OfIssue, outcome: Outcome) -> bool:
    """Whether the issue changed and may not have been triaged again, such as an edited one that is closed."""
    changed = isinstance(event, IssueText) and event.action in {"edited", "reopened"}
    return changed and outcome.kind == "silent"


def _issue(event: OfIssue, ports: Ports, received_at: datetime) -> Outcome:
    if isinstance(event, LabelChanged):
        return _label(event, ports, received_at)
    if isinstance(event, Answered):
        if ports.reports is not None:
            ports.reports.answered(*event.ref.key, received_at)
        return Outcome("noted", "answered", event.ref)
    if isinstance(event, Remarked):
        return Outcome("noted", "remark", event.ref)
    if isinstance(event, IssueLeft):
        return _left(event, ports)
    if isinstance(event, CommandGiven | Disliked | Afterword):
        if ports.app is None:
            return Outcome("ignored", "no_credentials", event.ref)
        github = ports.app.installation(event.ref.installation_id)
        if isinstance(event, Afterword):
            return note_resolution(github, ports, event.ref)
        if isinstance(event, Disliked):
            return fold_if_disliked(github, ports, event.ref)
        return run_command(github, ports, event)
    if event.action == "swept" and ports.store.last_triage(event.ref) is not None:
        # Its own delivery was only slow.
        return Outcome("unchanged", "triaged_before", event.ref)
    if event.action in _UPDATES and ports.store.triage_count(event.ref) > MOST_UPDATES:
        return Outcome("silent", "many_updates", event.ref)
    outcome = triage_issue(_github(event, ports), ports, event.ref, event.repo_open)
    if event.action == "reopened" and outcome.reason != "closed":
        ports.store.forget_resolution(event.ref)
    return outcome


def _left(event: IssueLeft, ports: Ports) -> Outcome:
    note_left(ports, event)
    outcome = issue_left(ports, event)
    if event.action != "closed":
        ports.store.forget_resolution(event.ref)
        return outcome
    if ports.app is None:
        return outcome
    github = ports.app.installation(event.ref.installation_id)
    noted = note_resolution(github, ports, event.ref)
    return outcome if noted.kind == "ignored" else noted


def _github(event: IssueText, ports: Ports) -> GitHub:
    if ports.app is None:
        return OfflineGitHub(event.issue)
    return ports.app.installation(event.ref.installation_id)


def _label(event: LabelChanged, ports: Ports, received_at: datetime) -> Outcome:
    by_us = ports.app is not None and event.by == _own_login(ports, event.ref)
    # Not the time of now: a template's label may have waited for the triage, and a second run keeps it once.
    fact = LabelFact(event.ref, event.label, event.added, event.by, by_us, received_at)
    ports.store.save_label_fact(fact)
    note_labels(ports, event.ref, [fact])
    return Outcome("noted", "label", event.ref)


def _own_login(ports: Ports, ref: IssueRef) -> str:
    assert ports.app is not None
    return ports.app.installation(ref.installation_id).login


def _installation(event: InstallationChanged, ports: Ports) -> Outcome:
    if event.note is not None:
        ports.store.save_installation(event.note)
    if event.added or event.removed:
        ports.store.save_repos(event.installation_id, list(event.added), list(event.removed))
    forget_repositories(ports, event)
    if ports.backfill is not None:
        for repo in event.added:
            ports.backfill(event.installation_id, repo)
    return Outcome("noted", "installation")


# The periodic look for what webhooks missed: GitHub does not send a failed delivery again by itself.

log = structlog.get_logger(__name__)

SWEEP_SECONDS = 600
LOOKS = 200
"""Repositories of an installation that one sweep looks at; of more, each is looked at in every second, third, ..."""


def lost_deliveries(ports: Ports, window: timedelta) -> Iterator[Delivery]:
    """Deliveries of the window that never got through; to be accepted as if they came now."""
    if ports.app is None:
        return
    for lost in ports.app.failed_deliveries(ports.clock.now() - window):
        yield Delivery(lost.guid, lost.event, lost.action, lost.payload, ports.clock.now())


def untriaged_issues(ports: Ports, window: timedelta) -> Iterator[Delivery]:
    """Deliveries of our own (action "swept") for issues opened within the window that have no triage.

    The id holds a hash of the text: accepting it twice is the same as once. An installation or repository
    that cannot be read now is left to the next sweep.
    """
    turn = int(ports.clock.now().timestamp() // SWEEP_SECONDS)
    for github, installation_id, repo in _repos(ports, turn):
        try:
            for issue in github.recent_issues(repo, ports.clock.now() - window):
                ref = IssueRef(installation_id, repo, issue.number)
                if ports.store.last_triage(ref) is None:
                    yield _swept(ref, issue, ports.clock.now())
        except GitHubError as error:
            _passed_over(error)


def disliked_comments(ports: Ports, window: timedelta) -> Iterator[Delivery]:
    """Deliveries of our own (action "disliked") for comments of the window with a thumb down.

    Reactions come with no webhook. All thumbs are kept as votes (`note_thumbs`). Whether the thumb is that of
    somebody who may fold the comment is looked at with the issue's lock held, in `command_run.fold_if_disliked`.
    The same thumbs are acted on once: the id holds them.
    """
    for github, _, repo in _repos(ports):
        for ref, note in ports.store.recent_comments(repo.id, ports.clock.now() - window):
            try:
                given = thumbs(github, ref, note)
                note_thumbs(github, ports, ref, given)
            except GitHubError as error:
                _passed_over(error)
                continue
            down = [login for login, up, _ in given if not up]
            if down:
                digest = hashlib.sha256(" ".join(down).encode()).hexdigest()[:16]
                yield _own(ref, "disliked", f"disliked-{note.comment_id}-{digest}", ports.clock.now())


def _repos(ports: Ports, turn: int | None = None) -> Iterator[tuple[GitHub, int, RepoRef]]:
    """The repositories of all installations; with a `turn` only those whose turn it is."""
    if ports.app is None:
        return
    for installation in ports.app.installations():
        ports.store.save_installation(installation)
        if installation.state != "active":
            continue
        try:
            github = ports.app.installation(installation.id)
            repos = github.repos()
        except GitHubError as error:
            _passed_over(error)
            continue
        parts = -(-len(repos) // LOOKS)
        for repo in repos:
            if turn is None or repo.id % parts == turn % parts:
                yield github, installation.id, repo


def _passed_over(error: GitHubError) -> None:
    log.warning("passed over until the next sweep", status=error.status)


def _swept(ref: IssueRef, issue: Issue, now: datetime) -> Delivery:
    digest = hashlib.sha256(f"{issue.title}\0{issue.body}".encode("utf-8", "replace")).hexdigest()[:16]
    return _own(ref, "swept", f"sweep-{ref.repo.id}-{issue.number}-{digest}", now)


def decided_draft(decision: DraftDecision) -> Delivery:
    """A delivery of our own (action "decided") that brings the comment in line with what a maintainer decided."""
    told = f"decided-{decision.issue.repo.id}-{decision.issue.number}-{int(decision.at.timestamp() * 1000)}"
    return _own(decision.issue, "decided", told, decision.at)


def _own(ref: IssueRef, action: str, id_: str, now: datetime) -> Delivery:
    payload = {
        "action": action,
        "installation": {"id": ref.installation_id},
        "repository": {"id": ref.repo.id, "full_name": ref.repo.full_name},
        "issue": {"number": ref.number, "title": "", "body": ""},
    }
    return Delivery(id_, "issues", action, payload, now)
