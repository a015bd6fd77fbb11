"""One event of one issue, handled once with a token: what the GitHub Action runs instead of the service.

The same handler, gate and configuration as the App's. https://docs.github.com/actions/reference/workflows-and-actions
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, TypeVar

from github import Auth, Github
from github.Requester import Requester

from bot.github.calls import Caller, GraphQl, Pause
from bot.github.client import InstallationGitHub, install, read_retries
from bot.github.command_run import with_whole_result
from bot.github.events import CommandGiven, IssueText, parse
from bot.github.handler import process
from bot.github.past_issues import GitHubPast
from bot.github.payload import storable
from bot.github.ports import (
    MAY_WRITE,
    Comment,
    Delivery,
    FailedDelivery,
    GitHub,
    GitHubApp,
    Outcome,
    Permission,
    Ports,
    Store,
)
from bot.github.records import (
    CommentNote,
    ConfigCache,
    Correction,
    Dismissal,
    DraftDecision,
    GitHubError,
    Gone,
    InstallationNote,
    IssueRef,
    LabelFact,
    Noise,
    PastedResult,
    RepoRef,
    Request,
    Resolution,
    TriageRecord,
    TryAgain,
)
from bot.github.thread import Command, is_command, may, parse_command
from bot.ports import Clock, Core
from knowledge.errors import UserError

# What one run without a database knows of one issue: its own comments are the record.
#
# Commands stay in the issue, so what they asked for can be read again: corrections, results, dismissals. What leaves
# no trace there (noise over many issues, a comment that somebody deleted, earlier configurations) is not known.


class IssueStore(Store):
    """The store of a run that handles one event of one issue, in memory."""

    def __init__(self) -> None:
        self.triage: TriageRecord | None = None
        self.config_read: ConfigCache | None = None
        self._note: CommentNote | None = None
        self._corrections: dict[int, Correction] = {}
        self._results: dict[int, PastedResult] = {}
        self._facts: list[LabelFact] = []
        self._requests: dict[str, Request] = {}
        self._decided: dict[str, DraftDecision] = {}
        self._done: set[tuple[int, str]] = set()
        self._on = True

    def save_triage(self, record: TriageRecord) -> None:
        """Keep it for the summary."""
        self.triage = record

    def last_triage(self, issue: IssueRef) -> TriageRecord | None:
        """This run's."""
        return self.triage

    def triage_count(self, issue: IssueRef) -> int:
        """This run's alone."""
        return int(self.triage is not None)

    def save_request(self, issue: IssueRef, request: Request) -> None:
        """Keep it for this run."""
        self._requests[request.item] = request

    def requests(self, issue: IssueRef) -> list[Request]:
        """This run's."""
        return list(self._requests.values())

    def save_resolution(self, issue: IssueRef, resolution: Resolution) -> None:
        """Dropped: nothing would read it."""

    def resolution(self, issue: IssueRef) -> Resolution | None:
        """None is kept."""
        return None

    def forget_resolution(self, issue: IssueRef) -> None:
        """None is kept."""

    def comment_note(self, issue: IssueRef) -> CommentNote | None:
        """What the commands on the issue lead to."""
        return self._note

    def save_comment_note(self, issue: IssueRef, note: CommentNote) -> None:
        """Replace it."""
        self._note = note

    def recent_comments(self, repo_id: int, since: datetime) -> list[tuple[IssueRef, CommentNote]]:
        """None: no sweep runs here."""
        return []

    def save_label_fact(self, fact: LabelFact) -> None:
        """Keep it; GitHub's own record is what counts."""
        self._facts.append(fact)

    def label_facts(self, issue: IssueRef) -> list[LabelFact]:
        """This run's."""
        return self._facts

    def save_correction(self, correction: Correction) -> None:
        """Keep it; one of the same comment replaces the earlier one."""
        self._corrections[correction.comment_id] = correction

    def corrections(self, issue: IssueRef) -> list[Correction]:
        """Those given in comments of the issue, oldest first."""
        return list(self._corrections.values())

    def save_draft_decision(self, decision: DraftDecision) -> None:
        """Keep it."""
        self._decided[decision.input_hash] = decision

    def draft_decision(self, issue: IssueRef, input_hash: str) -> DraftDecision | None:
        """This run's."""
        return self._decided.get(input_hash)

    def save_result(self, issue: IssueRef, result: PastedResult, at: datetime) -> None:
        """Keep it; one of the same comment is replaced."""
        self._results.pop(result.comment_id, None)
        self._results[result.comment_id] = result

    def results(self, issue: IssueRef, newest: int) -> list[PastedResult]:
        """The newest ones, newest first."""
        return list(reversed(self._results.values()))[:newest]

    def forget_result(self, comment_id: int) -> None:
        """Drop it."""
        self._results.pop(comment_id, None)

    def command_done(self, comment_id: int, digest: str) -> bool:
        """Whether this run carried it out."""
        return (comment_id, digest) in self._done

    def mark_command(self, comment_id: int, digest: str) -> None:
        """Note it for this run."""
        self._done.add((comment_id, digest))

    def config(self, repo_id: int) -> ConfigCache | None:
        """What this run read."""
        return self.config_read

    def save_config(self, repo_id: int, cache: ConfigCache) -> None:
        """Keep it for this run."""
        self.config_read = cache

    def claim_config_note(self, repo_id: int, error: str | None) -> bool:
        """Never: errors in the file stand in the summary."""
        return False

    def repo_on(self, repo_id: int) -> bool:
        """False after `/triage off` on this issue."""
        return self._on

    def set_repo_on(self, repo_id: int, on: bool, by: str, at: datetime) -> None:
        """Switch this issue."""
        self._on = on

    def save_dismissal(self, dismissal: Dismissal) -> None:
        """Dropped: noise is not counted here."""

    def noise(self, repo_id: int, last: int) -> Noise:
        """Unknown."""
        return Noise(0, 0)

    def take_writes(self, installation_id: int, count: int, now: datetime) -> float:
        """One run makes a handful of writes."""
        return 0.0

    def save_installation(self, note: InstallationNote) -> None:
        """Dropped: a token has no installation."""

    def save_repos(self, installation_id: int, added: list[RepoRef], removed: list[RepoRef]) -> None:
        """Dropped likewise."""


def recall(
    store: Store,
    ref: IssueRef,
    author: str,
    given: Iterable[tuple[Comment, Permission]],
    core: Core,
    clock: Clock,
) -> None:
    """Bring the store to where the issue's earlier commands left it; `given` oldest first, `author` of the issue."""
    for comment, permission in given:
        command = parse_command(comment.body, core.ids)
        if not isinstance(command, Command) or not may(command, permission, comment.author == author):
            continue
        command = with_whole_result(command)
        if isinstance(command, Command):
            _apply(store, ref, comment, command, permission in MAY_WRITE, clock.now())


def _apply(
    store: Store, ref: IssueRef, comment: Comment, command: Command, by_maintainer: bool, now: datetime
) -> None:
    note = store.comment_note(ref) or CommentNote(None, None)
    if command.word in {"on", "off"}:
        store.set_repo_on(ref.repo.id, command.word == "on", comment.author, now)
    elif command.word == "correct":
        store.save_correction(
            Correction(ref, comment.id, comment.author, now, dict(command.labels), title="", body="")
        )
    elif command.word == "result":
        store.save_result(ref, PastedResult(comment.id, comment.author, by_maintainer, command.text), now)
    elif command.word == "dismiss":
        store.save_comment_note(ref, note.folded(by_maintainer))
    elif command.word in {"again", "explain"}:
        back = note.called_back(command.word == "explain", by_maintainer)
        if back is not None:
            store.save_comment_note(ref, back)


ACTIONS_LOGIN = "github-actions[bot]"
"""Whose comments those are that a workflow's own token writes."""
_MOST_WAITING = 180.0
REMEDY = "Give the job `permissions: {contents: read, issues: write}`; in shadow mode issues: read will do."
Result = TypeVar("Result")


class TokenGitHub(GitHubApp):
    """A token of one repository in the place of an App: `login` is whom its comments are by."""

    def __init__(
        self,
        token: str,
        api_url: str,
        login: str = ACTIONS_LOGIN,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` (seconds) times the pauses after rate limits."""
        install()
        self._token = token
        self._api_url = api_url.rstrip("/")
        self._caller = Caller(self._requester, self._api_url, Pause(clock))
        self._github = InstallationGitHub(self._caller, login)

    def installation(self, installation_id: int) -> GitHub:
        """The one view there is, whatever the id."""
        return self._github

    def past(self, installation_id: int, repo: RepoRef) -> GitHubPast:
        """The repository's issues; a run keeps no history, so nothing asks for them."""
        return GitHubPast(GraphQl(self._caller, self._api_url), repo, tries=1)

    def installations(self) -> list[InstallationNote]:
        """None: a token has no installation."""
        return []

    def failed_deliveries(self, since: datetime) -> list[FailedDelivery]:
        """None: a workflow has no deliveries."""
        return []

    def _requester(self) -> Requester:
        client = Github(
            auth=Auth.Token(self._token),
            base_url=self._api_url,
            timeout=15,
            user_agent="distriage",
            retry=read_retries(),
            seconds_between_requests=0,
            seconds_between_writes=1.0,
        )
        return client.requester


def handle_event(
    event: str,
    payload: dict[str, Any],
    app: GitHubApp,
    core: Core,
    clock: Clock,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Outcome, IssueStore]:
    """Carry out one event (`event` as in X-GitHub-Event); safe to run again.

    Waits for rate limits and outages, three minutes at most, then raises `UserError`.
    """
    kept = storable({**payload, "installation": {"id": 0}}, keep_text=False)
    delivery = Delivery("action", event, kept.get("action"), kept, clock.now())
    store = IssueStore()
    ports = Ports(app=app, store=store, clock=clock, core=core)
    try:
        _patiently(lambda: _recall_earlier(ports, event, kept), sleep)
        return _patiently(lambda: process(delivery, ports), sleep), store
    except Gone:
        return Outcome("silent", "gone"), store
    except GitHubError as error:
        raise UserError(f"{error}.", REMEDY) from error


def _patiently(do: Callable[[], Result], sleep: Callable[[float], None]) -> Result:
    waited = 0.0
    while True:
        try:
            return do()
        except TryAgain as error:
            waited += error.after
            if waited > _MOST_WAITING:
                raise UserError(
                    f"Can't reach GitHub right now: {error}.", "Run the job again later."
                ) from error
            sleep(error.after)


def _recall_earlier(ports: Ports, event: str, payload: dict[str, Any]) -> None:
    seen = parse(event, payload)
    if not isinstance(seen, IssueText | CommandGiven) or not seen.issue.comments or ports.app is None:
        return
    github = ports.app.installation(0)
    now = seen.comment_id if isinstance(seen, CommandGiven) else None
    given = _commands(github, seen.ref, now)
    recall(ports.store, seen.ref, seen.issue.author, given, ports.core, ports.clock)


def _commands(github: GitHub, ref: IssueRef, now: int | None) -> Iterator[tuple[Comment, Permission]]:
    """Each command below the issue with its author's rights, but that of the comment `now`, which comes now."""
    rights: dict[str, Permission] = {}
    for comment in github.comments(ref):
        if comment.id == now or comment.author_is_bot or not is_command(comment.body):
            continue
        if comment.author not in rights:
            rights[comment.author] = github.permission(ref.repo, comment.author)
        yield comment, rights[comment.author]


def summary(outcome: Outcome, record: TriageRecord | None, config: ConfigCache | None) -> str:
    """What the run did or, in shadow mode, would have done: Markdown for the job's summary."""
    name = outcome.issue.name if outcome.issue else "no issue"
    lines = [f"### distriage: {name}", "", f"**{outcome.kind}** ({outcome.reason})", ""]
    if config is not None and config.error is not None:
        lines += [
            "`.github/distriage.yml` is not used:",
            "",
            "```text",
            config.error.replace("```", ""),
            "```",
            "",
        ]
    lines += [f"- {detail}" for detail in outcome.detail]
    changed = [f"`{name}` set" for name in outcome.labels_added]
    changed += [f"`{name}` removed" for name in outcome.labels_removed]
    if changed:
        lines += [f"Labels: {', '.join(changed)}.", ""]
    if record is None:
        return "\n".join(lines)
    if record.mode == "shadow":
        lines.append("Shadow mode: nothing was written.")
        if record.would_label:
            lines.append(
                "Labels it would set: " + ", ".join(f"`{label}`" for label in record.would_label) + "."
            )
        if not record.would_post:
            lines.append("It would not comment.")
    if record.would_post:
        body = record.would_post.partition("\n")[2]
        lines += [
            "",
            "The comment:" if outcome.comment_id else "The comment it would post:",
            "",
            "---",
            "",
            body,
        ]
    return "\n".join(lines) + "\n"
