"""A thumb down on the bot's comment, by the issue's author or a maintainer, folds it."""

from __future__ import annotations

from bot.github.command_run import fold_comment
from bot.github.ports import GitHub, Issue, Outcome, Ports
from bot.github.records import CommentNote, Dismissal, IssueRef


def thumbs_down(github: GitHub, ref: IssueRef, note: CommentNote) -> list[str]:
    """Who marked the live comment of the note with a thumb down, sorted."""
    if note.comment_id is None or note.state != "live":
        return []
    return sorted(login for login, content in github.reactions(ref, note.comment_id) if content == "-1")


def fold_if_disliked(github: GitHub, ports: Ports, ref: IssueRef) -> Outcome:
    """Fold the comment when somebody who may dismiss it has put a thumb down; the caller holds the issue's lock."""
    note = ports.store.comment_note(ref)
    down = thumbs_down(github, ref, note) if note is not None else []
    issue = github.issue(ref)
    by = next((login for login in down if _counts(github, ref, issue, login)), None)
    if by is None:
        return Outcome("ignored", "no_right" if down else "no_thumb", ref)
    ports.store.save_dismissal(Dismissal(ref, by, "reaction", ports.clock.now()))
    return fold_comment(github, ports, ref, issue, repo_open=True)


def _counts(github: GitHub, ref: IssueRef, issue: Issue, login: str) -> bool:
    return login == issue.author or github.permission(ref.repo, login) in {"admin", "write"}
