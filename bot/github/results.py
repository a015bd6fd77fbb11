"""Which pasted diagnostics results count, and which of them nobody with rights vouches for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from bot.github.errors import Gone
from bot.github.ports import MAY_WRITE, Comment, GitHub, Issue, Ports
from bot.github.records import IssueRef, PastedResult
from knowledge.diagnostics.result import MOST_BLOCKS, join_blocks, split_blocks
from knowledge.readback import taken_out, without_results
from knowledge.report import Report
from knowledge.triage import Triage

MOST = 8
"""Comments with results that count, the newest; those of maintainers first."""
MOST_CHARS = 262_144
"""Of all their blocks together, so that nobody makes each triage of an issue slower and slower."""


@dataclass(frozen=True, slots=True)
class Pasted:
    """The results that count, oldest first; `body_by`: who without rights pasted one into the issue's own text."""

    results: tuple[PastedResult, ...] = ()
    body_by: str | None = None

    @property
    def outsiders(self) -> list[str]:
        """Who pasted results without write permission."""
        by = [result.by for result in self.results if not result.by_maintainer]
        return list(dict.fromkeys([*([self.body_by] if self.body_by else []), *by]))

    def below(self, body: str) -> str:
        """The issue's text with every result below it."""
        return "\n\n".join([body, *(result.text for result in self.results)])

    def vouched_below(self, body: str) -> str:
        """The issue's text with only those results that a maintainer pasted."""
        own = without_results(body) if self.body_by else body
        return "\n\n".join([own, *(result.text for result in self.results if result.by_maintainer)])

    def said_by(self, triage: Triage) -> Triage:
        """The triage, saying whose unchecked results it rests on."""
        if not self.outsiders or not triage.measured:
            return triage
        names = ", ".join(f"`{login}`" for login in self.outsiders)
        note = f"As pasted by {names}, without write access here; nobody has checked it."
        return triage.model_copy(update={"measured": [note, *triage.measured]})


def pasted_results(
    github: GitHub, ports: Ports, ref: IssueRef, issue: Issue, comments: Collection[Comment]
) -> Pasted:
    """The newest results whose comments are still there, maintainers' before others', and who pasted one into the
    issue's own text. A result whose comment somebody deleted is forgotten."""
    seen = {comment.id for comment in comments}
    kept: dict[int, PastedResult] = {}
    room, blocks = MOST_CHARS, MOST_BLOCKS // 2
    stored = ports.store.results(ref, 3 * MOST)
    for result in sorted(stored, key=lambda one: not one.by_maintainer):
        bodies = split_blocks(result.text)
        text = join_blocks(bodies)
        room, blocks = room - len(text), blocks - len(bodies)
        if room < 0 or blocks < 0 or len(kept) == MOST:
            break
        if result.comment_id in seen or _exists(github, ports, ref, result):
            kept[result.comment_id] = replace(result, text=text)
    _, in_body = taken_out(Report("", "", issue.body))
    outside = in_body is not None and github.permission(ref.repo, issue.author) not in MAY_WRITE
    oldest_first = tuple(kept[one.comment_id] for one in reversed(stored) if one.comment_id in kept)
    return Pasted(oldest_first, issue.author if outside else None)


def _exists(github: GitHub, ports: Ports, ref: IssueRef, result: PastedResult) -> bool:
    """Whether a comment that the list does not show is there: the list can lag behind."""
    if ports.app is None:
        return True
    try:
        github.comment(ref, result.comment_id)
    except Gone:
        ports.store.forget_result(result.comment_id)
        return False
    return True
