"""What people say of a triage, kept as votes: commands, corrections and thumbs teach a repository's history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import structlog

from bot.github.ports import MAY_WRITE, GitHub, Ports
from bot.github.records import CommentNote, Correction, GitHubError, IssueRef
from bot.github.repo_config import RepoConfig
from bot.history.label_store import Kind, LabelTables, Role, Vote
from bot.history.search import own_id
from knowledge.triage import AxisName

log = structlog.get_logger(__name__)

_THUMBS = {"+1": True, "-1": False}


def correction_votes(given: Mapping[AxisName, Sequence[str]], config: RepoConfig) -> dict[str, bool]:
    """What a correction says of the labels that the corrected axes set: which belong on the issue and which do not."""
    told: dict[str, bool] = {}
    for axis, ids in given.items():
        for id_, label in config.labels.get(axis, {}).items():
            told[label] = told.get(label, False) or id_ in ids
    return told


def recast_corrections(
    tables: LabelTables, repo: int, number: int, corrections: Sequence[Correction], config: RepoConfig
) -> None:
    """Keep what maintainers' corrections of an issue, oldest first, say of labels; what was undone says nothing."""
    votes = [
        Vote(str(number), "label", label, one.by, "maintainer", agrees, one.at, corrected=True)
        for one in corrections
        for label, agrees in correction_votes(one.labels, config).items()
    ]
    tables.recast(repo, str(number), votes)


def note_corrections(ports: Ports, ref: IssueRef, config: RepoConfig) -> None:
    """Keep what the corrections of an issue say of labels, where its repository has a history."""
    if ports.own_labels is None or ports.histories is None:
        return
    repo = ports.histories.store.find(ref.repo.full_name, ref.repo.id)
    if repo is not None:
        given = ports.store.corrections(ref)
        recast_corrections(ports.own_labels.tables, repo.key, ref.number, given, config)


def note_vote(
    ports: Ports,
    ref: IssueRef,
    about: tuple[Kind, str],
    by: str,
    role: Role,
    agrees: bool,
    at: datetime | None = None,
) -> bool:
    """Keep a vote, cast `at` (None: now); False where the repository has no history."""
    if ports.own_labels is None or ports.histories is None:
        return False
    repo = ports.histories.store.find(ref.repo.full_name, ref.repo.id)
    if repo is None:
        return False
    kind, subject = about
    vote = Vote(str(ref.number), kind, subject, by, role, agrees, at or ports.clock.now())
    ports.own_labels.tables.save_vote(repo.key, vote)
    return True


def role_in(github: GitHub, ref: IssueRef, login: str, author: str) -> Role:
    """The role of somebody on an issue: what they may do in its repository, else whether it is theirs."""
    if github.permission(ref.repo, login) in MAY_WRITE:
        return "maintainer"
    return "author" if login == author else "other"


Thumb = tuple[str, bool, datetime]
"""Whose it is, whether it points up, and when it was given."""


def thumbs(github: GitHub, ref: IssueRef, note: CommentNote) -> list[Thumb]:
    """The thumbs on the live comment of the note, sorted."""
    if note.comment_id is None or note.state != "live":
        return []
    found = github.reactions(ref, note.comment_id)
    return sorted((login, _THUMBS[content], at) for login, content, at in found if content in _THUMBS)


def note_thumbs(github: GitHub, ports: Ports, ref: IssueRef, given: Sequence[Thumb]) -> int:
    """Keep thumbs as votes on the earlier issues that a comment shows, where it is there for them alone; how many.

    What somebody said after giving the thumb stays: it is read again with each sweep.
    """
    if not given or ports.own_labels is None or ports.histories is None:
        return 0
    repo = ports.histories.store.find(ref.repo.full_name, ref.repo.id)
    kept = ports.store.last_triage(ref)
    if repo is None or kept is None or kept.triage.measured or any(f.sure for f in kept.triage.findings):
        return 0
    named = (own_id(ref.repo.full_name, one.id) for one in kept.triage.same_failure)
    shown = [id for id in named if id]
    votes = ports.own_labels.tables.votes(repo.key, "same", [str(ref.number)])
    said = {(vote.by, vote.subject): vote.at for vote in votes}
    new = [
        (login, up, at)
        for login, up, at in given
        if login != github.login and any((login, id) not in said or said[login, id] < at for id in shown)
    ]
    if not new:
        return 0
    try:
        author = github.issue(ref).author
        for login, up, at in new:
            role = role_in(github, ref, login, author)
            for id in shown:
                note_vote(ports, ref, ("same", id), login, role, up, at)
    except GitHubError as error:
        log.warning("thumbs not read", issue=ref.name, status=error.status)
    return len(new)
