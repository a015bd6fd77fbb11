"""Carrying out a command: rights asked of GitHub, done once, acknowledged by a reaction alone."""

from __future__ import annotations

from dataclasses import replace

from bot.gate.markdown import pass_markdown
from bot.gate.quote import clean
from bot.github.budget import spend
from bot.github.commands import Command, Malformed, may, parse_command
from bot.github.config_load import load_config
from bot.github.decide import mode_now
from bot.github.errors import Gone
from bot.github.events import CommandGiven
from bot.github.marker import read_marker, with_marker
from bot.github.ports import Comment, GitHub, Issue, Outcome, Ports, Reaction
from bot.github.posting import find_own
from bot.github.records import CommentNote, Correction, Dismissal, IssueRef
from bot.github.repo_config import RepoConfig
from bot.github.triage_issue import triage_issue
from bot.render.comment import render_dismissed
from knowledge.diagnostics import parse_result
from knowledge.errors import InputError


def run_command(github: GitHub, ports: Ports, event: CommandGiven) -> Outcome:
    """Do what the comment asks, when its author may ask it."""
    ref = event.ref
    comment = github.comment(ref, event.comment_id)
    command = parse_command(comment.body, ports.core.ids)
    if command is None or comment.author_is_bot:
        return Outcome("ignored", "no_command", ref)
    issue = github.issue(ref)
    allowed, insider = _rights(github, ref, comment, issue, command)
    if not insider or not allowed:
        return Outcome("ignored", "no_right", ref)
    command = _whole(command)
    if isinstance(command, Malformed):
        writes = _react(github, ports, ref, issue, event, "confused", _silent(github, ports, ref, event))
        return Outcome("command", command.reason, ref, writes=writes)
    if ports.store.command_done(comment.id, command.digest):
        return Outcome("ignored", "done_before", ref)
    before = _silent(github, ports, ref, event)
    outcome = _perform(github, ports, event, comment, issue, command)
    silent = before and (command.word != "on" or _silent(github, ports, ref, event))
    writes = outcome.writes + _react(github, ports, ref, issue, event, "+1", silent)
    ports.store.mark_command(comment.id, command.digest)
    return replace(outcome, kind="command", reason=command.word, writes=writes)


def _whole(command: Command | Malformed) -> Command | Malformed:
    """A result counts only when its blocks are whole."""
    if isinstance(command, Malformed) or command.word != "result":
        return command
    try:
        parse_result(clean(command.text))
    except InputError:
        return Malformed("broken_result")
    return command


def _rights(
    github: GitHub, ref: IssueRef, comment: Comment, issue: Issue, command: Command | Malformed
) -> tuple[bool, bool]:
    """Whether this command is allowed, and whether its author is a maintainer or the issue's author."""
    is_author = comment.author == issue.author
    permission = github.permission(ref.repo, comment.author)
    insider = is_author or permission in {"admin", "write"}
    return (isinstance(command, Malformed) or may(command, permission, is_author)), insider


def _perform(
    github: GitHub, ports: Ports, event: CommandGiven, comment: Comment, issue: Issue, command: Command
) -> Outcome:
    ref, store, now = event.ref, ports.store, ports.clock.now()
    if command.word in {"on", "off"}:
        store.set_repo_on(ref.repo.id, command.word == "on", comment.author, now)
        return Outcome("command", command.word, ref)
    if command.word == "dismiss":
        return _dismiss(github, ports, event, comment, issue)
    if command.word == "result":
        store.save_result(ref, comment.id, comment.author, clean(command.text), now)
    if command.word == "correct":
        title, body = clean(issue.title), clean(issue.body)
        labels = dict(command.labels)
        store.save_correction(Correction(ref, comment.id, comment.author, now, labels, title, body))
    if command.word in {"explain", "again"}:
        note = store.comment_note(ref) or CommentNote(None, None)
        explained = note.explained or command.word == "explain"
        store.save_comment_note(ref, replace(note, state="live", explained=explained))
    return triage_issue(github, ports, ref, event.repo_open, force=command.word == "again")


def _dismiss(github: GitHub, ports: Ports, event: CommandGiven, comment: Comment, issue: Issue) -> Outcome:
    ref = event.ref
    ports.store.save_dismissal(Dismissal(ref, comment.author, "command", ports.clock.now()))
    return fold_comment(github, ports, ref, issue, event.repo_open)


def fold_comment(github: GitHub, ports: Ports, ref: IssueRef, issue: Issue, repo_open: bool) -> Outcome:
    """Reduce the bot's comment to one line, and remember that it stays so."""
    note = ports.store.comment_note(ref) or CommentNote(None, None)
    own = find_own(github, ports, ref, github.comments(ref))
    ports.store.save_comment_note(
        ref, replace(note, comment_id=own.id if own else note.comment_id, state="dismissed")
    )
    config = load_config(github, ports, ref.repo)
    if own is None or issue.locked or not repo_open or not _in_force(ports, ref, config):
        return Outcome("command", "dismissed", ref)
    draft = render_dismissed(config.language)
    marker = read_marker(own.body)
    body = pass_markdown(with_marker("triage", marker.input_hash if marker else "0" * 64, draft.body), ())
    spend(ports, ref.installation_id, 1)
    github.edit_comment(ref, own.id, body)
    return Outcome("command", "dismissed", ref, own.id, writes=1)


def _in_force(ports: Ports, ref: IssueRef, config: RepoConfig) -> bool:
    noise = ports.store.noise(ref.repo.id, config.noise.of_last)
    return mode_now(config, ports.store.repo_on(ref.repo.id), noise)[0] != "shadow"


def _silent(github: GitHub, ports: Ports, ref: IssueRef, event: CommandGiven) -> bool:
    """Whether nothing may be written here now, not even a reaction."""
    return not event.repo_open or not _in_force(ports, ref, load_config(github, ports, ref.repo))


def _react(
    github: GitHub,
    ports: Ports,
    ref: IssueRef,
    issue: Issue,
    event: CommandGiven,
    reaction: Reaction,
    silent: bool,
) -> int:
    if silent or issue.locked:
        return 0
    spend(ports, ref.installation_id, 1)
    try:
        github.react(ref, event.comment_id, reaction)
    except Gone:
        return 0
    return 1
