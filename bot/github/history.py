"""A repository's own history in the App's work: searched for each report, kept up to date by the usual webhooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import structlog

from bot.github.events import InstallationChanged, IssueLeft
from bot.github.past_outcome import is_person
from bot.github.ports import GitHub, Issue, Outcome, PastIssues, Ports
from bot.github.records import GitHubError, IssueRef, LabelFact, RepoRef
from bot.history import records
from bot.history.records import RepoHistory
from bot.history.search import TITLE_CHARS, Histories, Looked, ReadBoth, Releases, own_id, still_open
from bot.history.waves import Noted, root_signatures
from bot.history.wider import Visible
from bot.ports import Compared, Comparer, CoreFailed
from knowledge.history.record import Post
from knowledge.report import Report
from knowledge.text.quote import clean
from knowledge.triage import SecondReading, SuggestedLabel, Triage

log = structlog.get_logger(__name__)


def looked_for(
    github: GitHub, ports: Ports, ref: IssueRef, report: Report, issue: Issue, triage: Triage, *, read: bool
) -> Looked | None:
    """The issue in its repository's history, read with what was added below it; None where nothing can be found.

    `read`: an LLM, where there is one, reads what is near but not surely the same.
    """
    if ports.histories is None:
        return None
    post = Post(str(ref.number), report.title, report.body, issue.created_at, "open")
    return ports.histories.look(
        ref.repo.full_name,
        ref.repo.id,
        post,
        triage,
        _releases(ports, ref),
        _visible(ports, ref),
        _read_both(github, ports.comparer, ref, report) if ports.comparer is not None and read else None,
    )


def _read_both(github: GitHub, comparer: Comparer, ref: IssueRef, report: Report) -> ReadBoth:
    """Has the report compared with earlier issues. GitHub is asked for the texts that aren't kept."""

    def read_both(ids: Sequence[str], kept: Mapping[str, Report]) -> Compared:
        earlier = []
        for id in ids:
            if id in kept:
                earlier.append(kept[id])
                continue
            if not id.isdecimal():
                continue
            try:
                issue = github.issue(replace(ref, number=int(id)))
            except GitHubError as error:
                log.warning("earlier issue not read", issue=f"{ref.repo.full_name}#{id}", status=error.status)
                continue
            earlier.append(Report(id, issue.title, issue.body))
        return comparer.compare(report, earlier) if earlier else Compared("")

    return read_both


def with_comparison(note: SecondReading | None, compared: Compared | None) -> SecondReading | None:
    """What is told of the LLM's part in a triage, with what the comparison took."""
    if note is None or compared is None:
        return note
    return note.model_copy(
        update={
            "duties": [*note.duties, *(["comparer"] if compared.fault is None else [])],
            "tokens_in": note.tokens_in + compared.tokens_in,
            "tokens_out": note.tokens_out + compared.tokens_out,
            "cost": note.cost + compared.cost,
            "seconds": note.seconds + compared.seconds,
        }
    )


def suggested(ports: Ports, looked: Looked | None, report: Report) -> list[SuggestedLabel]:
    """The repository's own labels that fit the issue; none where nothing was learned."""
    if ports.own_labels is None or looked is None or looked.repo is None:
        return []
    return ports.own_labels.suggested(looked.repo, looked.record, report.title, report.body)


def note_labels(ports: Ports, ref: IssueRef, facts: Iterable[LabelFact]) -> None:
    """Keep who set or removed labels: what people do teaches, and what bots do does not count."""
    if ports.own_labels is None or ports.histories is None:
        return
    repo = ports.histories.store.find(ref.repo.full_name, ref.repo.id)
    if repo is None:
        return
    for fact in facts:
        by_person = is_person(fact.by) and not fact.by_us
        change = records.LabelChange(fact.label, fact.added, fact.by, by_person, fact.at)
        ports.own_labels.tables.save_label(repo.key, str(ref.number), change)


def keep_issue(ports: Ports, ref: IssueRef, issue: Issue, looked: Looked | None) -> None:
    """Keep an issue that was triaged, so that later ones find it."""
    if ports.histories is not None and looked is not None:
        post = Post(str(ref.number), issue.title, issue.body, issue.created_at, "open")
        ports.histories.keep(looked, records.PastIssue(post, still_open()))
        # Those of its template came before there was an issue to keep them of.
        note_labels(ports, ref, ports.store.label_facts(ref))


def note_report(ports: Ports, ref: IssueRef, issue: Issue, triage: Triage, answered: bool) -> None:
    """Keep what the tracker's state and waves are counted from; `answered`: somebody of the project wrote below it."""
    if ports.reports is None:
        return
    found, repo = triage.evidence, ref.repo
    keys = [f"failure:{one.id}" for one in triage.findings if one.sure]
    keys += [f"signature:{one.id}" for one in found.signatures if one.id in root_signatures()]
    noted = Noted(
        installation_id=ref.installation_id,
        repo_id=repo.id,
        repo_name=repo.full_name,
        number=ref.number,
        opened=issue.created_at,
        author=issue.author,
        title=clean(issue.title)[:TITLE_CHARS],
        keys=tuple(dict.fromkeys(keys)),
        versions=found.versions,
        framework=found.framework or "",
        launcher=found.launcher or "",
    )
    names = (own_id(repo.full_name, one.id) for one in triage.same_failure)
    same = [int(number) for number in names if number and number.isdecimal()]
    ports.reports.note(noted, same, ports.clock.now() if answered else None)


def note_left(ports: Ports, event: IssueLeft) -> None:
    """The issue was closed, or is there no more."""
    if ports.reports is None:
        return
    key = event.ref.key
    if event.action == "closed":
        ports.reports.closed(*key, event.closed_at or ports.clock.now())
    else:
        ports.reports.drop(*key)


def issue_left(ports: Ports, event: IssueLeft) -> Outcome:
    """Keep how an issue ended; what was deleted or moved elsewhere is forgotten."""
    ref, histories = event.ref, ports.histories
    repo = histories.store.find(ref.repo.full_name, ref.repo.id) if histories is not None else None
    if histories is None or repo is None:
        return Outcome("ignored", event.action, ref)
    if event.action != "closed":
        histories.store.drop(repo.key, str(ref.number))
        return Outcome("noted", event.action, ref)
    if _read_again(ports, histories, repo, ref):
        return Outcome("noted", "closed", ref)
    kept = histories.store.issues(repo.key, [str(ref.number)]).get(str(ref.number))
    if kept is not None:
        ended = replace(
            kept.outcome, is_open=False, state="closed", reason=event.reason, closed_at=event.closed_at
        )
        histories.store.save_page(repo.key, [replace(kept, outcome=ended, record=None, labels=None)])
    return Outcome("noted", "closed", ref)


def keep_up(ports: Ports, ref: IssueRef, *, again: bool) -> None:
    """Keep an issue that its repository's history lacks: the back-fill passed it over, or it was never triaged.

    `again`: read one that is kept, too, for who wrote below it and what people marked.
    """
    histories = ports.histories
    repo = histories.store.find(ref.repo.full_name, ref.repo.id) if histories is not None else None
    if histories is None or repo is None:
        return
    id = str(ref.number)
    if again or not histories.store.hashes(repo.key, [id]):
        _read_again(ports, histories, repo, ref)


def _read_again(ports: Ports, histories: Histories, repo: RepoHistory, ref: IssueRef) -> bool:
    """Keep the issue as GitHub has it now; False where that could not be read."""
    past = _past(ports, ref)
    if past is None:
        return False
    try:
        histories.update(repo, past.one(ref.number))
    except GitHubError as error:
        log.warning("not read for its history", issue=ref.name, status=error.status)
        return False
    except CoreFailed as error:
        log.warning("not kept in its history", issue=ref.name, error=type(error).__name__)
        return False
    return True


def forget_repositories(ports: Ports, event: InstallationChanged) -> None:
    """Delete the history of every repository that the App was removed from, and what was counted there."""
    removed = event.note is not None and event.note.state == "deleted"
    installation_id = event.installation_id if removed else None
    ids = [repo.id for repo in event.removed]
    if ports.reports is not None:
        ports.reports.forget(ids, installation_id)
    if ports.histories is not None:
        ports.histories.store.forget(ids, [repo.full_name for repo in event.removed], installation_id)


def _past(ports: Ports, ref: IssueRef) -> PastIssues | None:
    return ports.app.past(ref.installation_id, ref.repo) if ports.app is not None else None


def _visible(ports: Ports, ref: IssueRef) -> Visible | None:
    """Whether another repository may be named below this issue: public ones, and those that are as visible as its own.

    GitHub is asked each time: what was public when its history was read need not be so now.
    """
    app = ports.app
    if app is None:
        return None
    here: list[str] = []

    def visible(sibling: RepoHistory) -> bool:
        there = RepoRef(sibling.repo_id or 0, sibling.full_name)
        try:
            found = app.past(ref.installation_id, there).visibility()
            if found == "PUBLIC":
                return True
            here[:] = here or [app.past(ref.installation_id, ref.repo).visibility()]
        except GitHubError as error:
            log.warning("visibility not read", repository=ref.repo.full_name, status=error.status)
            return False
        return found != "" and found == here[0]

    return visible


def _releases(ports: Ports, ref: IssueRef) -> Releases | None:
    past = _past(ports, ref)
    if past is None:
        return None

    def first_holding(commits: Sequence[tuple[str, datetime]]) -> dict[str, str]:
        try:
            return past.first_holding(commits)
        except GitHubError as error:
            log.warning("releases not read", repository=ref.repo.full_name, status=error.status)
            return {}

    return first_holding
