"""What a test of the GitHub App holds in its hands."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count
from typing import Any

from bot.github.handler import process
from bot.github.payload import storable
from bot.github.ports import Delivery, Outcome, Ports
from bot.github.records import IssueRef, RepoRef
from knowledge.diagnostics.result import checksum
from tests.bot.fake_core import FakeCore
from tests.bot.fake_github import FakeComment, FakeGitHub, FakeIssue, FakeRepo, user
from tests.bot.memory_store import MemoryStore, StillClock

REPO = "acme/train"
BODY = "Watchdog caught a timeout on rank 3."
_ids = count(1)


@dataclass
class World:
    fake: FakeGitHub
    store: MemoryStore
    clock: StillClock
    core: FakeCore
    ports: Ports

    @property
    def repo(self) -> FakeRepo:
        return self.fake.repo(REPO)

    def configure(self, text: str) -> None:
        self.repo.files[".github/distriage.yml"] = text

    def issue(
        self, title: str = "Training hangs", body: str = "Watchdog caught a timeout on rank 3."
    ) -> FakeIssue:
        return self.fake.open_issue(REPO, title, body)

    def ref(self, issue: FakeIssue) -> IssueRef:
        return IssueRef(1, RepoRef(self.repo.id, REPO), issue.number)

    def deliver(self, event: str, payload: dict[str, Any]) -> Outcome:
        kept = storable(payload, keep_text=self.ports.app is None)
        return process(
            Delivery(f"d{next(_ids)}", event, payload.get("action"), kept, self.clock.now()), self.ports
        )

    def opened(self, issue: FakeIssue, action: str = "opened", **more: Any) -> Outcome:
        if action == "edited":
            more = {"changes": {"body": {"from": "x"}}, **more}
        return self.deliver("issues", self.fake.payload(REPO, issue, action, **more))

    def say(self, issue: FakeIssue, login: str, body: str, action: str = "created") -> Outcome:
        return self.repeat(issue, self.fake.add_comment(issue, login, body), action)

    def repeat(
        self, issue: FakeIssue, comment: FakeComment, action: str = "created", before: str = ""
    ) -> Outcome:
        data = {
            "id": comment.id,
            "body": comment.body,
            "user": comment.user,
            "author_association": comment.association,
        }
        more = {"changes": {"body": {"from": before}}} if action == "edited" else {}
        payload = self.fake.payload(
            REPO, issue, action, comment=data, sender=user(comment.user["login"]), **more
        )
        return self.deliver("issue_comment", payload)

    def ours(self, issue: FakeIssue) -> list[FakeComment]:
        return [c for c in issue.comments if c.user["login"] == "distriage[bot]"]


def result_block(**changes: object) -> str:
    """What the diagnostics script prints on rank 3, with these fields changed."""
    data: dict[str, object] = {
        "schema": "distriage-result/1",
        "script": "0" * 12,
        "host": "host-00ff00",
        "rank": 3,
        "world_size": 16,
        "platform": "linux",
        "python": "3.11.7",
        "started": 1_700_000_000,
        "seconds": 4.5,
        "probes": [{"id": "master_port", "outcome": "refused", "seconds": 0.1, "facts": {"port": 29500}}],
        **changes,
    }
    return f"```distriage-result\n{json.dumps({**data, 'checksum': checksum(data)})}\n```"
