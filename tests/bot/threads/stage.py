"""Conversations of conversations.yaml played against a fake GitHub, and what has to be true when they end."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bot.github.ports import Store
from bot.github.records import IssueRef, RepoRef
from tests.bot.fake_github import BOT, FakeComment, FakeGitHub, FakeIssue, FakeRepo, user

FILE = Path(__file__).with_name("conversations.yaml")
CONFIG = {"mode": "both", "sections": ["evidence", "fixes", "cases", "missing"]}
"""Without the script, whose address holds the issue's number."""
ASKS = {
    "log": r"Please post the (?:log from the first error|full build output|full traceback of the import)",
    "stacks": r"While it hangs, please run `py-spy dump",
    "versions": r"Which [^.?]+ versions? are you using\?",
    "command": r"What's the exact command that starts the job\?",
    "nccl_debug": r"run it again with `NCCL_DEBUG=INFO`",
    "throughput": r"What throughput do you get",
}
PEOPLE = ("reporter", "maria", "eve", "bob")
Tell = Callable[[str, dict[str, Any]], None]


@dataclass(frozen=True)
class Conversation:
    """One of the file; see there."""

    name: str
    title: str
    body: str
    steps: list[dict[str, Any]]
    ends: dict[str, Any]
    before: list[dict[str, str]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    gists: dict[str, dict[str, str]] = field(default_factory=dict)


def conversations() -> list[Conversation]:
    """All of them."""
    return [Conversation(**one) for one in yaml.safe_load(FILE.read_text(encoding="utf-8"))]


class Stage:
    """One conversation below one issue; `tell` hands an event with its payload to the bot.

    `at_once`: the bot hears of nothing until all is said (or the issue is closed), and then of one edit.
    """

    def __init__(
        self,
        fake: FakeGitHub,
        conversation: Conversation,
        tell: Tell,
        *,
        repo: str = "acme/train",
        installation: int = 1,
        at_once: bool = False,
    ) -> None:
        self.fake, self.conversation, self._tell, self._at_once = fake, conversation, tell, at_once
        self.name, self._installation = repo, installation
        self.repo: FakeRepo = fake.repo(repo)
        self.repo.files[".github/distriage.yml"] = yaml.safe_dump(CONFIG | conversation.config)
        self.repo.labels.append("needs-info")
        self.repo.permissions["maria"] = "write"
        for id_, files in conversation.gists.items():
            fake.gists[id_] = {
                n: {"filename": n, "type": "text/plain", "content": t} for n, t in files.items()
            }
        self.issue: FakeIssue = fake.open_issue(repo, conversation.title, conversation.body)
        self.issue.labels += conversation.labels
        self.issue.events += [("labeled", name, "maria") for name in conversation.labels]
        for step in conversation.before:
            [(login, text)] = step.items()
            self._add(login, text)

    @property
    def ref(self) -> IssueRef:
        return IssueRef(self._installation, RepoRef(self.repo.id, self.name), self.issue.number)

    @property
    def ours(self) -> list[FakeComment]:
        return [comment for comment in self.issue.comments if comment.user["login"] == BOT]

    def open(self) -> None:
        """The issue is opened."""
        self._say("issues", "opened", always=True)

    def step(self, step: dict[str, Any]) -> None:
        """Do one step and tell the bot."""
        (what, value), more = next(iter(step.items())), step
        if what in {"closes", "reopens", "locks"} and self._at_once:
            self.end()
        if what == "long":
            many = (step["line"].format(n=n) for n in range(10_000))
            text = "\n".join(many)[:value]
            self._comment("reporter", f"```\n{text}\n{step['ends']}\n```")
        elif what in {"edits", "deletes"}:
            self._change(value, step.get("to"))
        elif what == "report":
            before, self.issue.body = self.issue.body, value
            self._say("issues", "edited", changes={"body": {"from": before}})
        elif what in {"label", "unlabel"}:
            (self.issue.labels.append if what == "label" else self.issue.labels.remove)(value)
            self.issue.events.append((f"{what}ed", value, "maria"))
            self._say("issues", f"{what}ed", label={"name": value}, sender=user("maria"))
        elif what == "closes":
            if "pull" in more:
                self.fake.merge(self.issue, self.name, more["pull"])
            self.fake.close(self.issue, value, more.get("reason", "completed"), more.get("commit"))
            self._say("issues", "closed", always=True)
        elif what == "reopens":
            self.fake.reopen(self.issue)
            self._say("issues", "reopened", always=True)
        elif what == "locks":
            self.issue.locked = True
            self._say("issues", "locked")
        elif what == "rewrites":
            self.ours[0].body += value
        elif what == "removes":
            self.issue.comments.remove(self.ours[0])
        else:
            self._comment(what, value)

    def end(self) -> None:
        """The one edit that the bot hears of when all was said at once."""
        if self._at_once:
            self._say("issues", "edited", always=True, changes={"body": {"from": "x"}})

    def _comment(self, login: str, text: str) -> None:
        self._tell_comment(self._add(login, text), "created")

    def _add(self, login: str, text: str) -> FakeComment:
        return self.fake.add_comment(self.issue, login, text, "MEMBER" if login == "maria" else "NONE")

    def _change(self, number: int, text: str | None) -> None:
        comment = [c for c in self.issue.comments if c.user["login"] in PEOPLE][number]
        before = comment.body
        if text is None:
            self.issue.comments.remove(comment)
            self._tell_comment(comment, "deleted")
        else:
            comment.body = text
            self._tell_comment(comment, "edited", changes={"body": {"from": before}})

    def _tell_comment(self, comment: FakeComment, action: str, **more: Any) -> None:
        data = {
            "id": comment.id,
            "body": comment.body,
            "user": comment.user,
            "author_association": comment.association,
        }
        self._say("issue_comment", action, comment=data, sender=comment.user, **more)

    def _say(self, event: str, action: str, always: bool = False, **more: Any) -> None:
        if always or not self._at_once:
            ids = {"installation": {"id": self._installation}}
            self._tell(event, self.fake.payload(self.name, self.issue, action, **ids, **more))

    def asked(self) -> set[str]:
        """What the bot's comment asks for."""
        text = self.ours[0].body if self.ours else ""
        return {item for item, words in ASKS.items() if re.search(words, text)}

    def problems(self, store: Store) -> list[str]:
        """What is not as the conversation says that it should end."""
        ends, found = self.conversation.ends, list[str]()
        body = self.ours[0].body if self.ours else ""
        if len(self.ours) != (0 if ends.get("comment") == "none" else 1):
            found.append(f"{len(self.ours)} comments")
        wanted = ends.get("comment", [])
        found += [f"does not say {part!r}" for part in wanted if wanted != "none" and part not in body]
        found += [f"says {part!r}" for part in ends.get("not", []) if part in body]
        if "asks" in ends and self.asked() != set(ends["asks"]):
            found.append(f"asks for {sorted(self.asked())}, not {sorted(ends['asks'])}")
        if "labels" in ends and sorted(self.issue.labels) != sorted(ends["labels"]):
            found.append(f"labels are {self.issue.labels}")
        if "came" in ends:
            came = sorted(one.item for one in store.requests(self.ref) if one.state == "arrived")
            found += [f"came: {came}"] if came != sorted(ends["came"]) else []
        found += self._versions(store) + self._resolution(store)
        return [*found, body] if found else []

    def _versions(self, store: Store) -> list[str]:
        last = store.last_triage(self.ref)
        versions = last.triage.evidence.versions if last else {}
        wanted = self.conversation.ends.get("versions", {})
        return [f"{name} is {versions.get(name)}" for name, v in wanted.items() if versions.get(name) != v]

    def _resolution(self, store: Store) -> list[str]:
        ends, kept = self.conversation.ends, store.resolution(self.ref)
        if "resolution" not in ends:
            return [] if kept is None or self.issue.state == "closed" else ["a resolution is kept"]
        if ends["resolution"] is None or kept is None:
            return [] if kept == ends["resolution"] else [f"resolution: {kept}"]
        wanted = {
            name: v.format(repo=self.name) if isinstance(v, str) else v
            for name, v in ends["resolution"].items()
        }
        found = [
            f"resolution.{name} is {getattr(kept, name)!r}"
            for name, v in wanted.items()
            if getattr(kept, name) != v
        ]
        found += [f"resolution lacks {part!r}" for part in ends.get("said", []) if part not in kept.said]
        return found + [
            f"resolution holds {part!r}" for part in ends.get("not_said", []) if part in kept.said
        ]
