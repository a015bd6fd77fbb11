"""Carrying out a command: rights asked of GitHub, done once, acknowledged by a reaction alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from bot.gate.markdown import pass_markdown
from bot.github.case import mode_of
from bot.github.decide import drop_requests, remove_request_label
from bot.github.events import CommandGiven
from bot.github.ports import MAY_WRITE, Comment, GitHub, Issue, Outcome, Permission, Ports, Reaction
from bot.github.posting import edited_by_person, find_own, read_marker, spend, with_marker
from bot.github.records import CommentNote, Correction, Dismissal, DraftDecision, Gone, IssueRef, PastedResult
from bot.github.repo_config import RepoConfig
from bot.github.thread import Command, Malformed, may, parse_command
from bot.github.triage_issue import load_config, triage_issue
from bot.github.votes import note_corrections, note_vote, thumbs
from bot.history.label_store import Role
from bot.render.comment import render_dismissed
from knowledge.diagnostics.result import join_blocks, parse_result, split_blocks
from knowledge.errors import InputError
from knowledge.text.quote import clean

# The comment reduced to one line, by a command or by a reaction.


@dataclass(frozen=True, slots=True)
class Folding:
    """Who wants the comment folded, with what right, and how that was said."""

    by: str
    by_maintainer: bool
    how: Literal["command", "reaction"]


def fold_comment(
    github: GitHub, ports: Ports, ref: IssueRef, issue: Issue, folding: Folding, repo_open: bool = True
) -> Outcome:
    """Reduce the bot's comment to one line, and remember that it stays so and who wanted it.

    What a person wrote into the comment is replaced only for a maintainer. Doing it twice writes once.
    """
    note = ports.store.comment_note(ref) or CommentNote(None, None)
    own = find_own(github, ports, ref, github.comments(ref))
    if own is not None and edited_by_person(own.body) and not folding.by_maintainer:
        return Outcome("ignored", "edited_by_person", ref)
    now = ports.clock.now()
    ports.store.save_dismissal(Dismissal(ref, folding.by, folding.how, now, folding.by_maintainer))
    note = replace(note, comment_id=own.id if own else note.comment_id)
    ports.store.save_comment_note(ref, note.folded(folding.by_maintainer))
    config = load_config(github, ports, ref.repo)
    drop_requests(ports, ref)
    if own is None or issue.locked or not repo_open or not in_force(ports, ref, config):
        return Outcome("command", "dismissed", ref)
    off = remove_request_label(github, ports, ref, issue, config) if config.sets_labels else ()
    marker = read_marker(own.body)
    draft = render_dismissed()
    body = pass_markdown(with_marker("triage", marker.input_hash if marker else "0" * 64, draft.body), ())
    if own.body.split() == body.split():
        return Outcome("command", "dismissed", ref, own.id, labels_removed=off, writes=len(off))
    spend(ports, ref.installation_id, 1)
    github.edit_comment(ref, own.id, body)
    return Outcome("command", "dismissed", ref, own.id, labels_removed=off, writes=1 + len(off))


def in_force(ports: Ports, ref: IssueRef, config: RepoConfig) -> bool:
    """Whether anything may be written in the repository now."""
    return mode_of(ports, ref, config)[0] != "shadow"


@dataclass(frozen=True, slots=True)
class _Given:
    """A command with what is known of who gave it."""

    event: CommandGiven
    comment: Comment
    issue: Issue
    permission: Permission

    @property
    def by_author(self) -> bool:
        return self.comment.author == self.issue.author

    @property
    def by_maintainer(self) -> bool:
        return self.permission in MAY_WRITE


def run_command(github: GitHub, ports: Ports, event: CommandGiven) -> Outcome:
    """Do what the comment asks, when its author may ask it."""
    ref = event.ref
    comment = github.comment(ref, event.comment_id)
    command = parse_command(comment.body, ports.core.ids)
    if command is None or comment.author_is_bot:
        return Outcome("ignored", "no_command", ref)
    given = _Given(event, comment, github.issue(ref), github.permission(ref.repo, comment.author))
    if not _allowed(given, command):
        return Outcome("ignored", "no_right", ref)
    command = with_whole_result(command)
    if isinstance(command, Malformed):
        writes = _react(github, ports, given, "confused", _silent(github, ports, event))
        return Outcome("command", command.reason, ref, writes=writes)
    if ports.store.command_done(comment.id, command.digest):
        return Outcome("ignored", "done_before", ref)
    before = _silent(github, ports, event)
    outcome = _perform(github, ports, given, command)
    if outcome.kind == "ignored":
        return outcome
    silent = before and (command.word != "on" or _silent(github, ports, event))
    writes = outcome.writes + _react(github, ports, given, "+1", silent)
    if not outcome.late:
        ports.store.mark_command(comment.id, command.digest)
    return replace(outcome, kind="command", reason=command.word, writes=writes)


def _allowed(given: _Given, command: Command | Malformed) -> bool:
    if isinstance(command, Malformed):
        return given.by_maintainer or given.by_author
    return may(command, given.permission, given.by_author)


def with_whole_result(command: Command | Malformed) -> Command | Malformed:
    """A result counts only when its blocks are whole; of its text nothing else is kept."""
    if isinstance(command, Malformed) or command.word != "result":
        return command
    text = clean(command.text)
    try:
        parse_result(text)
    except InputError:
        return Malformed("broken_result")
    return replace(command, text=join_blocks(split_blocks(text)))


def _perform(github: GitHub, ports: Ports, given: _Given, command: Command) -> Outcome:
    event, comment, issue = given.event, given.comment, given.issue
    ref, store, now = event.ref, ports.store, ports.clock.now()
    if command.word in {"on", "off"}:
        store.set_repo_on(ref.repo.id, command.word == "on", comment.author, now)
        return Outcome("command", command.word, ref)
    if command.word == "dismiss":
        folding = Folding(comment.author, given.by_maintainer, "command")
        return fold_comment(github, ports, ref, issue, folding, event.repo_open)
    if command.word == "result":
        store.save_result(
            ref, PastedResult(comment.id, comment.author, given.by_maintainer, command.text), now
        )
    if command.word == "correct":
        title, body = clean(issue.title), clean(issue.body)
        labels = dict(command.labels)
        store.save_correction(Correction(ref, comment.id, comment.author, now, labels, title, body))
        note_corrections(ports, ref, load_config(github, ports, ref.repo))
    if command.word in {"same", "different"}:
        role: Role = "maintainer" if given.by_maintainer else "author"
        if not note_vote(ports, ref, ("same", command.text), comment.author, role, command.word == "same"):
            return Outcome("ignored", "no_history", ref)
    if command.word == "post":
        kept = store.last_triage(ref)
        if kept is None or kept.triage.answer is None or not kept.triage.answer.verified:
            return Outcome("ignored", "no_draft", ref)
        note = store.comment_note(ref) or CommentNote(None, None)
        store.save_comment_note(ref, replace(note, state="live"))
        sentences = tuple(sentence.text for sentence in kept.triage.answer.sentences)
        store.save_draft_decision(DraftDecision(ref, kept.input_hash, "post", sentences, comment.author, now))
    if command.word in {"explain", "again"}:
        note = store.comment_note(ref) or CommentNote(None, None)
        back = note.called_back(command.word == "explain", given.by_maintainer)
        if back is None:
            return Outcome("ignored", "dismissed_by_maintainer", ref)
        store.save_comment_note(ref, back)
    return triage_issue(github, ports, ref, event.repo_open, force=command.word == "again")


def _silent(github: GitHub, ports: Ports, event: CommandGiven) -> bool:
    """Whether nothing may be written here now, not even a reaction."""
    config = load_config(github, ports, event.ref.repo)
    return not event.repo_open or not in_force(ports, event.ref, config)


def _react(github: GitHub, ports: Ports, given: _Given, reaction: Reaction, silent: bool) -> int:
    if silent or given.issue.locked:
        return 0
    ref: IssueRef = given.event.ref
    spend(ports, ref.installation_id, 1)
    try:
        github.react(ref, given.comment.id, reaction)
    except Gone:
        return 0
    return 1


def fold_if_disliked(github: GitHub, ports: Ports, ref: IssueRef) -> Outcome:
    """Fold the comment when somebody who may dismiss it has put a thumb down; the caller holds the issue's lock."""
    note = ports.store.comment_note(ref)
    given = thumbs(github, ref, note) if note is not None else []
    down = [login for login, up, _ in given if not up]
    issue = github.issue(ref)
    maintainer = next((login for login in down if is_maintainer(github, ref, login)), None)
    by = maintainer or (issue.author if issue.author in down else None)
    if by is None:
        return Outcome("ignored", "no_right" if down else "no_thumb", ref)
    return fold_comment(github, ports, ref, issue, Folding(by, maintainer is not None, "reaction"))


def is_maintainer(github: GitHub, ref: IssueRef, login: str) -> bool:
    """Whether a user may write to the repository."""
    return github.permission(ref.repo, login) in MAY_WRITE
