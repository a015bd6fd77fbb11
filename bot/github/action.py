"""One event of one issue, handled once with a token: what the GitHub Action runs instead of the service.

The same handler, gate and configuration as the App's. https://docs.github.com/actions/reference/workflows-and-actions
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, TypeVar

from github import Auth, Github
from github.Requester import Requester

from bot.github.calls import Caller, Pause
from bot.github.client import InstallationGitHub, install, read_retries
from bot.github.commands import is_command
from bot.github.errors import GitHubError, Gone, TryAgain
from bot.github.events import CommandGiven, IssueText, parse
from bot.github.graphql import GraphQl
from bot.github.handler import process
from bot.github.issue_store import IssueStore, recall
from bot.github.past_issues import GitHubPast
from bot.github.payload import storable
from bot.github.ports import Comment, Delivery, FailedDelivery, GitHub, GitHubApp, Outcome, Permission, Ports
from bot.github.records import ConfigCache, InstallationNote, IssueRef, RepoRef, TriageRecord
from bot.ports import Clock, Core
from knowledge.errors import UserError

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
                    f"GitHub cannot be reached now: {error}.", "Run the job again later."
                ) from error
            sleep(error.after)


def _recall_earlier(ports: Ports, event: str, payload: dict[str, Any]) -> None:
    seen = parse(event, payload)
    if not isinstance(seen, IssueText | CommandGiven) or not seen.issue.comments or ports.app is None:
        return
    github = ports.app.installation(0)
    until = seen.comment_id if isinstance(seen, CommandGiven) else None
    given = _commands(github, seen.ref, until)
    recall(ports.store, seen.ref, seen.issue.author, given, ports.core, ports.clock)


def _commands(github: GitHub, ref: IssueRef, until: int | None) -> Iterator[tuple[Comment, Permission]]:
    """Each command below the issue with its author's rights; those before the comment `until`, which comes now."""
    rights: dict[str, Permission] = {}
    for comment in github.comments(ref):
        if comment.id == until:
            return
        if comment.author_is_bot or not is_command(comment.body):
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
