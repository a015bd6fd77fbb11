"""A thumb down on the bot's comment, by the issue's author or a maintainer, folds it."""

from __future__ import annotations

from bot.github.fold import Folding, fold_comment
from bot.github.ports import GitHub, Outcome, Ports
from bot.github.records import CommentNote, IssueRef


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
    maintainer = next((login for login in down if is_maintainer(github, ref, login)), None)
    by = maintainer or (issue.author if issue.author in down else None)
    if by is None:
        return Outcome("ignored", "no_right" if down else "no_thumb", ref)
    return fold_comment(github, ports, ref, issue, Folding(by, maintainer is not None, "reaction"))


def is_maintainer(github: GitHub, ref: IssueRef, login: str) -> bool:
    """Whether a user may write to the repository."""
    return github.permission(ref.repo, login) in {"admin", "write"}
