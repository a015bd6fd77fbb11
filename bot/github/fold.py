"""The comment reduced to one line, by a command or by a reaction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from bot.gate.markdown import pass_markdown
from bot.github.case import mode_of
from bot.github.config_load import load_config
from bot.github.labels import remove_request_label
from bot.github.pending import drop_requests
from bot.github.ports import GitHub, Issue, Outcome, Ports
from bot.github.posting import edited_by_person, find_own, read_marker, spend, with_marker
from bot.github.records import CommentNote, Dismissal, IssueRef
from bot.github.repo_config import RepoConfig
from bot.render.comment import render_dismissed


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
