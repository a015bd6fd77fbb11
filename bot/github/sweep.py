"""The periodic look for what webhooks missed: GitHub does not send a failed delivery again by itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta

import structlog

from bot.github.errors import GitHubError
from bot.github.ports import Delivery, GitHub, Issue, Ports
from bot.github.records import DraftDecision, IssueRef, RepoRef
from bot.github.votes import note_thumbs, thumbs

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
            down = [login for login, up in given if not up]
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
