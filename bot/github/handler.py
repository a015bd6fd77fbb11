"""The composition: one delivery in, one outcome out."""

from __future__ import annotations

from bot.gate.rules import GateError
from bot.github.command_run import fold_if_disliked, run_command
from bot.github.errors import Gone, NotAllowed
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
    parse,
)
from bot.github.history import forget_repositories, issue_left, note_labels, note_left
from bot.github.offline import OfflineGitHub
from bot.github.ports import Delivery, GitHub, Outcome, Ports
from bot.github.records import IssueRef, LabelFact
from bot.github.resolution import note_resolution
from bot.github.triage_issue import triage_issue

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
        return _issue(event, ports)
    except Gone:
        return Outcome("silent", "gone", event.ref)
    except NotAllowed as error:
        return Outcome("silent", error.why, event.ref)
    except GateError as error:
        # Better no comment than a wrong one.
        return Outcome("silent", "gate_refused", event.ref, detail=tuple(error.violations))


def _issue(event: OfIssue, ports: Ports) -> Outcome:
    if isinstance(event, LabelChanged):
        return _label(event, ports)
    if isinstance(event, Answered):
        if ports.reports is not None:
            ports.reports.answered(*event.ref.key, ports.clock.now())
        return Outcome("noted", "answered", event.ref)
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


def _label(event: LabelChanged, ports: Ports) -> Outcome:
    by_us = ports.app is not None and event.by == _own_login(ports, event.ref)
    fact = LabelFact(event.ref, event.label, event.added, event.by, by_us, ports.clock.now())
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
    return Outcome("noted", "installation")
