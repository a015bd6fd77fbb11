"""An issue's text with what was added below it: who said what, and which of it is part of the report. Pure.

The report is the opening post, and what its author or a maintainer added of substance. What others paste is
another reporter's: it can be another fault, and must not change what is said of this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import re2

from bot.gate.markdown import pass_markdown
from bot.gate.rules import check_ids
from bot.github.commands import is_command
from bot.github.config_load import load_config
from bot.github.decide import mode_now
from bot.github.ports import Comment, GitHub, Issue, Outcome, Ports
from bot.github.posting import edited_by_person, find_own, read_marker, spend, with_marker
from bot.github.records import CommentNote, Dismissal, IssueRef, merge
from bot.github.repo_config import Mode, RepoConfig
from bot.github.results import Pasted, pasted_results
from bot.render.comment import render_dismissed
from knowledge.diagnostics.result import FENCE
from knowledge.report import Report
from knowledge.triage import AxisName, Triage, WrittenAnswer


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
    if folding.by_maintainer:
        note = replace(note, state="dismissed")
    elif note.state == "live":
        note = replace(note, state="dismissed_by_author")
    ports.store.save_comment_note(ref, note)
    config = load_config(github, ports, ref.repo)
    if own is None or issue.locked or not repo_open or not in_force(ports, ref, config):
        return Outcome("command", "dismissed", ref)
    marker = read_marker(own.body)
    draft = render_dismissed()
    body = pass_markdown(with_marker("triage", marker.input_hash if marker else "0" * 64, draft.body), ())
    if own.body.split() == body.split():
        return Outcome("command", "dismissed", ref, own.id)
    spend(ports, ref.installation_id, 1)
    github.edit_comment(ref, own.id, body)
    return Outcome("command", "dismissed", ref, own.id, writes=1)


def in_force(ports: Ports, ref: IssueRef, config: RepoConfig) -> bool:
    """Whether anything may be written in the repository now."""
    noise = ports.store.noise(ref.repo.id, config.noise.of_last)
    return mode_now(config, ports.store.repo_on(ref.repo.id), noise)[0] != "shadow"


Role = Literal["author", "maintainer", "another reporter"]

ADDED = "[added]"
"""What is kept of a comment that adds something, where its text is read from GitHub later."""
MANY_CHARS = 200
"""An author who writes more than this adds something, whatever it is."""
MOST_CHARS = 65_536
"""Of all comments together, the newest; as many as GitHub allows in the opening post."""
_MAINTAINERS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
_HEADINGS: dict[Role, str] = {
    "author": "### Added by the author",
    "maintainer": "### Added by a maintainer",
    "another reporter": "### From another reporter",
}
_FENCE_LINE = re2.compile(r"^ {0,3}(```|~~~)")
_LOG_LINE = re2.compile(
    r"(?i)^\s*(\[?\d{4}-\d{2}-\d{2}|\d{2}:\d{2}:\d{2}|traceback \(|file \".{1,300}\", line \d|\[?rank ?\d+\]?[ :]"
    r"|[\w.]{1,100}(error|exception)\b|[\w.-]{1,64}:\d+:\d+ \[\d+\]|(error|fatal|warning|info)[ :])"
)
_VERSION = re2.compile(
    r"(?i)\b(py ?torch|torch|cuda|cudnn|nccl|python|tensorflow|keras|horovod|deepspeed|megatron|colossal-?ai|lightning|"
    r"mxnet|ray|driver|ubuntu|open ?mpi|gcc|cmake|rocm|jax|transformers|accelerate)\b[^\n]{0,24}\b\d+\.\d+"
)


@dataclass(frozen=True, slots=True)
class Said:
    """What one comment adds."""

    role: Role
    text: str


def adds_something(text: str, by_author: bool) -> bool:
    """Whether a comment holds log lines, versions, or (by the author) more than a few words; quotes do not count."""
    own = _unquoted(text)
    if own.strip() == ADDED:
        return True
    lines = own.split("\n")
    logged = any(_FENCE_LINE.match(line) for line in lines) or sum(map(_is_log, lines)) >= 2
    return logged or _VERSION.search(own) is not None or (by_author and len(own.strip()) > MANY_CHARS)


def said_below(comments: Sequence[Comment], author: str) -> list[Said]:
    """What the comments add, oldest first: without bots, commands and what adds nothing ("+1", thanks, questions)."""
    out = []
    for comment in comments:
        if comment.author_is_bot or is_command(comment.body):
            continue
        role: Role = (
            "author"
            if comment.author == author
            else "maintainer"
            if comment.association in _MAINTAINERS
            else "another reporter"
        )
        if adds_something(comment.body, by_author=role == "author"):
            # A result counts by its command alone, which says whose it is.
            text = _unquoted(comment.body).replace(FENCE, "```text").strip()
            out.append(Said(role, text))
    return out


def whole_text(body: str, said: Sequence[Said]) -> str:
    """The opening post and what its author and maintainers added, the newest `MOST_CHARS` of that."""
    parts: list[str] = []
    room = MOST_CHARS
    for one in reversed([one for one in said if one.role != "another reporter"]):
        part = f"{_HEADINGS[one.role]}\n\n{_closed(one.text)}"
        if len(part) > room:
            break
        room -= len(part)
        parts.insert(0, part)
    return "\n\n".join([_closed(body), *parts]) if parts else body


def _is_log(line: str) -> bool:
    return _LOG_LINE.search(line) is not None


def _unquoted(text: str) -> str:
    """Without the lines that quote somebody: answers by mail repeat what they answer, our own comment, too."""
    return "\n".join(line for line in text.split("\n") if not line.startswith(">"))


def _closed(text: str) -> str:
    """The text with a code block that its author left open closed, so that what follows is not part of it."""
    fences = [found.group(1) for line in text.split("\n") if (found := _FENCE_LINE.match(line))]
    return f"{text}\n{fences[-1]}" if len(fences) % 2 else text


@dataclass(frozen=True, slots=True)
class Case:
    """An issue, looked at."""

    issue: Issue
    config: RepoConfig
    mode: Mode
    why: str
    pasted: Pasted
    report: Report
    triage: Triage
    label_triage: Triage
    """The triage that labels follow: without results that nobody with rights vouches for."""
    corrected: dict[AxisName, tuple[str, ...]]
    comments: list[Comment]
    own: Comment | None


def look(github: GitHub, ports: Ports, ref: IssueRef, issue: Issue, config: RepoConfig, quick: bool) -> Case:
    """Triage the issue with what people pasted and set; `quick`: without waiting for a second reader."""
    noise = ports.store.noise(ref.repo.id, config.noise.of_last)
    mode, why = mode_now(config, ports.store.repo_on(ref.repo.id), noise)
    comments = github.comments(ref) if mode in {"comment", "both"} or issue.comments else []
    corrected = merge(ports.store.corrections(ref))
    pasted = pasted_results(github, ports, ref, issue, comments)
    report = Report(
        id=ref.name,
        title=issue.title,
        body=pasted.below(_text(issue, comments)),
        usual_framework=config.framework,
        set_by_people=corrected,
        opened=issue.created_at.date().isoformat(),
    )
    triage = ports.core.triage(replace(report, write=config.has_answers), quick or config.llm == "off")
    check_ids(triage, ports.core.ids)
    posted = _posted(ports, ref, report)
    triage = triage.model_copy(update={"answer": posted}) if posted else triage
    label_triage = triage
    if pasted.outsiders and triage.measured and any(config.labels.values()):
        vouched = replace(report, body=pasted.vouched_below(_text(issue, comments)))
        label_triage = ports.core.triage(vouched, quick=True)
        check_ids(label_triage, ports.core.ids)
    own = find_own(github, ports, ref, comments)
    triage = pasted.said_by(triage)
    return Case(issue, config, mode, why, pasted, report, triage, label_triage, corrected, comments, own)


def same_text(case: Case, fresh: Issue) -> bool:
    """Whether the issue still says what was triaged."""
    now = replace(case.report, title=fresh.title, body=case.pasted.below(_text(fresh, case.comments)))
    return now.content_hash == case.report.content_hash


def _posted(ports: Ports, ref: IssueRef, report: Report) -> WrittenAnswer | None:
    """The drafted answer that a maintainer had posted, while the text is the one it was written for."""
    note = ports.store.comment_note(ref)
    kept = ports.store.last_triage(ref) if note is not None and note.written else None
    return kept.triage.answer if kept is not None and kept.input_hash == report.content_hash else None


def _text(issue: Issue, comments: list[Comment]) -> str:
    return whole_text(issue.body, said_below(comments, issue.author))
