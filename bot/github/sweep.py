"""The periodic look for what webhooks missed: GitHub does not send a failed delivery again by itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta

from bot.github.command_run import fold_comment
from bot.github.errors import Gone, NotAllowed, TryAgain
from bot.github.ports import Delivery, GitHub, Issue, Ports
from bot.github.records import CommentNote, Dismissal, IssueRef, RepoRef


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
    for github, installation_id, repo in _repos(ports):
        try:
            for issue in github.recent_issues(repo, ports.clock.now() - window):
                ref = IssueRef(installation_id, repo, issue.number)
                if ports.store.last_triage(ref) is None:
                    yield _swept(ref, issue, ports.clock.now())
        except (Gone, NotAllowed, TryAgain):
            continue


def read_reactions(ports: Ports, window: timedelta) -> int:
    """Fold comments of the window that their issue's author or a maintainer marked with a thumb down.

    Reactions come with no webhook. Returns how many were folded. The caller holds no issue's lock: folding is
    one edit of a comment, and a triage that runs beside it finds the note and keeps still.
    """
    folded = 0
    for github, _, repo in _repos(ports):
        for ref, note in ports.store.recent_comments(repo.id, ports.clock.now() - window):
            try:
                folded += _folded_by_thumb(github, ports, ref, note)
            except (Gone, NotAllowed, TryAgain):
                continue
    return folded


def _repos(ports: Ports) -> Iterator[tuple[GitHub, int, RepoRef]]:
    if ports.app is None:
        return
    for installation in ports.app.installations():
        ports.store.save_installation(installation)
        if installation.state != "active":
            continue
        github = ports.app.installation(installation.id)
        try:
            repos = github.repos()
        except (Gone, NotAllowed, TryAgain):
            continue
        for repo in repos:
            yield github, installation.id, repo


def _swept(ref: IssueRef, issue: Issue, now: datetime) -> Delivery:
    digest = hashlib.sha256(f"{issue.title}\0{issue.body}".encode("utf-8", "replace")).hexdigest()[:16]
    payload = {
        "action": "swept",
        "installation": {"id": ref.installation_id},
        "repository": {"id": ref.repo.id, "full_name": ref.repo.full_name},
        "issue": {"number": issue.number, "title": "", "body": ""},
    }
    return Delivery(f"sweep-{ref.repo.id}-{issue.number}-{digest}", "issues", "swept", payload, now)


def _folded_by_thumb(github: GitHub, ports: Ports, ref: IssueRef, note: CommentNote) -> int:
    if note.comment_id is None or note.state != "live":
        return 0
    down = [login for login, content in github.reactions(ref, note.comment_id) if content == "-1"]
    if not down:
        return 0
    issue = github.issue(ref)
    by = next((u for u in down if _counts(github, ref, issue, u)), None)
    if by is None:
        return 0
    ports.store.save_dismissal(Dismissal(ref, by, "reaction", ports.clock.now()))
    fold_comment(github, ports, ref, issue, repo_open=True)
    return 1


def _counts(github: GitHub, ref: IssueRef, issue: Issue, login: str) -> bool:
    return login == issue.author or github.permission(ref.repo, login) in {"admin", "write"}
