"""An issue with everything that was said and set, which pasted results count, and its triage."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bot.gate.rules import check_ids
from bot.github.decide import mode_now
from bot.github.history import looked_for, suggested, with_comparison
from bot.github.ports import MAY_WRITE, Comment, GitHub, Issue, Ports
from bot.github.posting import as_decided, find_own
from bot.github.records import (
    DraftDecision,
    Gone,
    IssueRef,
    NotAllowed,
    PastedResult,
    TooLarge,
    TryAgain,
    merge,
)
from bot.github.repo_config import Mode, RepoConfig
from bot.github.thread import MOST_GISTS, Said, gist_ids, said_below, text_of, whole_text
from bot.history.search import Looked
from knowledge.diagnostics.result import MOST_BLOCKS, join_blocks, split_blocks
from knowledge.readback import taken_out, without_results
from knowledge.report import Report
from knowledge.triage import AxisName, Triage, WrittenAnswer

# Which pasted diagnostics results count, and which of them nobody with rights vouches for.

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
    gists: dict[str, str]
    """Text of the gists that the report links to, by id."""
    looked: Looked | None = None
    """What the repository's own history holds of it; None where none is kept."""
    decision: Literal["post", "reject"] | None = None
    """What a maintainer decided about the answer drafted for this text."""

    @property
    def shown_triage(self) -> Triage:
        """The triage without a draft that was rejected."""
        return self.triage.model_copy(update={"answer": None}) if self.decision == "reject" else self.triage

    @property
    def answer_late(self) -> bool:
        """Whether the LLM was only too slow for an answer that is wanted here."""
        note, answer = self.triage.second_reading, self.triage.answer
        written = answer is not None and answer.verified
        return self.config.has_answers and note is not None and note.late and not written


def look(github: GitHub, ports: Ports, ref: IssueRef, issue: Issue, config: RepoConfig, quick: bool) -> Case:
    """Triage the issue with what people pasted and set; `quick`: without waiting for a second reader."""
    mode, why = mode_of(ports, ref, config)
    comments = github.comments(ref) if mode in {"comment", "both"} or issue.comments else []
    corrected = merge(ports.store.corrections(ref))
    said = said_below(comments, issue.author)
    gists = _gists(github, issue, said)
    text = whole_text(issue.body, said, gists)
    pasted = pasted_results(github, ports, ref, issue, comments)
    report = Report(
        id=ref.name,
        title=issue.title,
        body=pasted.below(text),
        usual_framework=config.framework,
        set_by_people=corrected,
        opened=issue.created_at.date().isoformat(),
    )
    triage = ports.core.triage(replace(report, write=config.has_answers), quick or config.llm == "off")
    check_ids(triage, ports.core.ids)
    decision = ports.store.draft_decision(ref, report.content_hash)
    posted = _posted(ports, ref, report, decision)
    triage = triage.model_copy(update={"answer": posted}) if posted else triage
    triage = as_decided(triage, decision)
    asks = config.llm != "off" and not quick
    looked = looked_for(github, ports, ref, report, issue, triage, read=asks)
    labels = suggested(ports, looked, report)
    if looked:
        found = {"same_failure": list(looked.earlier), "own_labels": labels}
        note = with_comparison(triage.second_reading, looked.compared)
        triage = triage.model_copy(update={**found, "second_reading": note})
    label_triage = triage
    if pasted.outsiders and triage.measured and any(config.labels.values()):
        vouched = replace(report, body=pasted.vouched_below(text))
        label_triage = ports.core.triage(vouched, quick=True).model_copy(update={"own_labels": labels})
        check_ids(label_triage, ports.core.ids)
    own = find_own(github, ports, ref, comments)
    triage = pasted.said_by(triage)
    return Case(
        issue,
        config,
        mode,
        why,
        pasted,
        report,
        triage,
        label_triage,
        corrected,
        comments,
        own,
        gists,
        looked,
        decision.decision if decision is not None else None,
    )


def mode_of(ports: Ports, ref: IssueRef, config: RepoConfig) -> tuple[Mode, str]:
    """The mode in force in the repository now, and why."""
    noise = ports.store.noise(ref.repo.id, config.noise.of_last)
    return mode_now(config, ports.store.repo_on(ref.repo.id), noise)


def same_text(case: Case, fresh: Issue) -> bool:
    """Whether the issue still says what was triaged."""
    text = whole_text(fresh.body, said_below(case.comments, fresh.author), case.gists)
    now = replace(case.report, title=fresh.title, body=case.pasted.below(text))
    return now.content_hash == case.report.content_hash


def text_now(github: GitHub, ref: IssueRef) -> tuple[str, str]:
    """Title and text of an issue as `look` would read it now, pasted results aside; not redacted.

    Raises `GitHubError`.
    """
    issue = github.issue(ref)
    said = said_below(github.comments(ref) if issue.comments else [], issue.author)
    return issue.title, whole_text(issue.body, said, _gists(github, issue, said))


def _posted(
    ports: Ports, ref: IssueRef, report: Report, decision: DraftDecision | None
) -> WrittenAnswer | None:
    """The drafted answer that a maintainer had posted, while the text is the one it was written for."""
    posts = decision is not None and decision.decision == "post"
    kept = ports.store.last_triage(ref) if posts else None
    return kept.triage.answer if kept is not None and kept.input_hash == report.content_hash else None


def _gists(github: GitHub, issue: Issue, said: Sequence[Said]) -> dict[str, str]:
    """The gists that the opening post, its author and maintainers link to, as far as they can be read."""
    texts = [issue.body, *(one.text for one in said if one.role != "another reporter")]
    found: dict[str, str] = {}
    for id_ in list(dict.fromkeys(id_ for text in texts for id_ in gist_ids(text)))[:MOST_GISTS]:
        try:
            found[id_] = text_of(github.gist(id_))
        except TryAgain as error:
            # GitHub answers that it cannot (after three tries of ours): the report is worth reading without it.
            if error.status < 500:
                raise
        except (Gone, NotAllowed, TooLarge):
            continue
    return found
