"""GitHub as one payload shows it, and what that payload would lead to, without database or any write."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.gate.markdown import pass_markdown
from bot.gate.rules import PassedLabel, PassedMarkdown, check_ids
from bot.github.decide import leave_alone, wanted_labels, what_to_say
from bot.github.events import CommandGiven, Ignored, IssueText, parse
from bot.github.payload import storable
from bot.github.ports import Closing, Comment, File, GitHub, Issue, LabelEvent, Permission, Reaction
from bot.github.records import Gone, IssueRef, NotAllowed, RepoRef
from bot.github.repo_config import RepoConfig, parse_config
from bot.github.thread import Command, parse_command
from bot.ports import Core
from bot.render.comment import View, render_comment
from knowledge.errors import InputError
from knowledge.report import Report
from knowledge.triage import Triage


class OfflineGitHub(GitHub):
    """One issue, no comments, no configuration file; every write is refused."""

    def __init__(self, issue: Issue) -> None:
        self._issue = issue

    @property
    def login(self) -> str:
        """A name that no account can have."""
        return "offline[bot]"

    def issue(self, ref: IssueRef) -> Issue:
        """The payload's issue."""
        return self._issue

    def comments(self, ref: IssueRef) -> list[Comment]:
        """None are known."""
        return []

    def comment(self, ref: IssueRef, comment_id: int) -> Comment:
        """None is known."""
        raise Gone("no App credentials: no comment can be read")

    def create_comment(self, ref: IssueRef, body: PassedMarkdown) -> Comment:
        """Refused."""
        raise self._refuse()

    def edit_comment(self, ref: IssueRef, comment_id: int, body: PassedMarkdown) -> None:
        """Refused."""
        raise self._refuse()

    def add_labels(self, ref: IssueRef, labels: list[PassedLabel]) -> None:
        """Refused."""
        raise self._refuse()

    def remove_label(self, ref: IssueRef, label: PassedLabel) -> None:
        """Refused."""
        raise self._refuse()

    def repo_labels(self, repo: RepoRef) -> frozenset[str]:
        """Unknown: only what the issue has."""
        return self._issue.labels

    def create_label(self, repo: RepoRef, label: PassedLabel) -> None:
        """Refused."""
        raise self._refuse()

    def label_events(self, ref: IssueRef) -> list[LabelEvent]:
        """None are known: every label counts as a person's."""
        return []

    def closing(self, ref: IssueRef, at: datetime) -> Closing:
        """Nothing is known of it."""
        return Closing()

    def gist(self, gist_id: str) -> list[tuple[str, str]]:
        """None can be read."""
        raise Gone("no App credentials: no gist can be read")

    def react(self, ref: IssueRef, comment_id: int, reaction: Reaction) -> None:
        """Refused."""
        raise self._refuse()

    def reactions(self, ref: IssueRef, comment_id: int) -> list[tuple[str, str, datetime]]:
        """None are known."""
        return []

    def permission(self, repo: RepoRef, login: str) -> Permission:
        """Nobody may do anything."""
        return "none"

    def file(self, repo: RepoRef, path: str, etag: str | None) -> File:
        """None can be read."""
        return File("absent")

    def recent_issues(self, repo: RepoRef, since: datetime) -> list[Issue]:
        """None are known."""
        return []

    def repos(self) -> list[RepoRef]:
        """None are known."""
        return []

    def _refuse(self) -> NotAllowed:
        return NotAllowed("no App credentials: nothing is read from or written to GitHub", "forbidden")


# What a payload would lead to, without GitHub, database or any write: the same decisions, the same gate.

_REMEDY = "Use the payload of an issues or issue_comment event, or an issue as returned by GitHub's API."


@dataclass(frozen=True, slots=True)
class Simulation:
    """What would happen: `writes` is false in shadow mode, where the rest is what would be said otherwise."""

    reason: str
    mode: str
    writes: bool
    labels: tuple[str, ...] = ()
    comment: str = ""


def simulate(payload: dict[str, Any], core: Core, config_text: str | None = None) -> Simulation:
    """The outcome of a payload under a configuration file's text (None = the repository has none).

    A payload without an installation is taken as if it had one, an issue as GitHub's API returns it as one that was
    opened. Raises `InputError` when it is neither, `ConfigError` for a broken file, `GateError` when the gate refuses.
    """
    config = parse_config(config_text or "", core.ids)
    if "issue" not in payload and "title" in payload:
        payload = _opened(payload)
    kept = storable({"installation": {"id": 0}, **payload}, keep_text=True)
    event = parse("issue_comment" if "comment" in payload else "issues", kept)
    if isinstance(event, Ignored) and event.reason == "malformed":
        raise InputError("The file is neither a webhook payload nor an issue.", _REMEDY)
    if isinstance(event, Ignored):
        return Simulation(f"ignored: {event.reason}", config.mode, writes=False)
    if isinstance(event, CommandGiven):
        command = parse_command(event.body, core.ids)
        told = command.word if isinstance(command, Command) else getattr(command, "reason", "?")
        return Simulation(f"command: {told}", config.mode, writes=config.mode != "shadow")
    if not isinstance(event, IssueText):
        raise InputError("The payload isn't an event on an issue.", _REMEDY)
    alone = leave_alone(event.issue, config, event.repo_open)
    if alone:
        return Simulation(f"ignored: {alone}", config.mode, writes=False)
    report = Report(
        event.ref.name,
        event.issue.title,
        event.issue.body,
        usual_framework=config.framework,
        opened=event.issue.created_at.date().isoformat(),
    )
    return _decided(core.triage(report), core, config)


def _opened(issue: dict[str, Any]) -> dict[str, Any]:
    """The payload of an issue's opening, from what the API returns of the issue."""
    name = "/".join(str(issue.get("repository_url", "")).split("/")[-2:])
    repository = {"id": 0, "full_name": name if "/" in name else "unknown/unknown"}
    return {"action": "opened", "issue": issue, "repository": repository}


def _decided(triage: Triage, core: Core, config: RepoConfig) -> Simulation:
    check_ids(triage, core.ids)
    say = what_to_say(triage, config, other_bot_asks=False)
    comment = ""
    if say.what != "nothing":
        view = View(
            triage=triage,
            name=core.name,
            what=say.what,
            level=config.comment_on,
            sections=config.sections,
            thresholds=config.thresholds.model_dump(),
            written=config.llm == "comment",
        )
        draft = render_comment(view)
        comment = pass_markdown(draft.body, draft.links)
    labels = tuple(name for names in wanted_labels(triage, config).values() for name in names)
    shown = config.mode == "shadow"
    return Simulation(
        reason=say.reason,
        mode=config.mode,
        writes=bool((comment and config.comments) or (labels and config.sets_labels)),
        labels=labels if shown or config.sets_labels else (),
        comment=comment if shown or config.comments else "",
    )
