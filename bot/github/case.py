"""An issue with everything that was said and set, and its triage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.gate.rules import check_ids
from bot.github.decide import mode_now
from bot.github.drafts import as_decided
from bot.github.errors import Gone, NotAllowed, TooLarge, TryAgain
from bot.github.gists import MOST_GISTS, gist_ids, text_of
from bot.github.history import looked_for, suggested
from bot.github.ports import Comment, GitHub, Issue, Ports
from bot.github.posting import find_own
from bot.github.records import IssueRef, merge
from bot.github.repo_config import Mode, RepoConfig
from bot.github.results import Pasted, pasted_results
from bot.github.thread import Said, said_below, whole_text
from bot.history.search import Looked
from knowledge.report import Report
from knowledge.triage import AxisName, Triage, WrittenAnswer


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
    rejected: bool = False
    """A maintainer rejected the drafted answer."""

    @property
    def shown_triage(self) -> Triage:
        """The triage without a draft that was rejected."""
        return self.triage.model_copy(update={"answer": None}) if self.rejected else self.triage

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
    posted = _posted(ports, ref, report)
    triage = triage.model_copy(update={"answer": posted}) if posted else triage
    decision = ports.store.draft_decision(ref, report.content_hash)
    triage = as_decided(triage, decision)
    looked = looked_for(ports, ref, report, issue, triage)
    labels = suggested(ports, looked, report)
    if looked:
        triage = triage.model_copy(update={"same_failure": list(looked.earlier), "own_labels": labels})
    label_triage = triage
    if pasted.outsiders and triage.measured and any(config.labels.values()):
        vouched = replace(report, body=pasted.vouched_below(text))
        label_triage = ports.core.triage(vouched, quick=True).model_copy(update={"own_labels": labels})
        check_ids(label_triage, ports.core.ids)
    own = find_own(github, ports, ref, comments)
    triage = pasted.said_by(triage)
    rejected = decision is not None and decision.decision == "reject"
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
        rejected,
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


def _posted(ports: Ports, ref: IssueRef, report: Report) -> WrittenAnswer | None:
    """The drafted answer that a maintainer had posted, while the text is the one it was written for."""
    note = ports.store.comment_note(ref)
    kept = ports.store.last_triage(ref) if note is not None and note.written else None
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
