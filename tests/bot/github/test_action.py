"""The GitHub Action: one event with a token, no database; the same comment, labels and silence as the App's."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.github.action import ACTIONS_LOGIN, TokenGitHub, handle_event, summary
from bot.github.ports import Outcome
from knowledge.errors import UserError
from tests.bot.fake_core import FakeCore
from tests.bot.fake_github import FakeComment, FakeIssue, Fault, once, user
from tests.bot.memory_store import StillClock
from tests.bot.world import REPO, World

ROOT = Path(__file__).parents[3]
TOKEN = "ghs_" + "1" * 36
COMMENT = "mode: comment\n"


@dataclass
class Workflow:
    """Events of a repository's workflow; each is handled by a run that knows nothing of earlier ones."""

    world: World
    url: str
    shown: str = ""
    waited: list[float] = field(default_factory=list)

    def run(self, event: str, payload: dict[str, Any]) -> Outcome:
        payload.pop("installation")
        clock = StillClock()
        app = TokenGitHub(TOKEN, self.url, clock=lambda: clock.now().timestamp())

        def sleep(seconds: float) -> None:
            self.waited.append(seconds)
            clock.forward(seconds)

        outcome, store = handle_event(event, payload, app, FakeCore(), clock, sleep)
        self.shown = summary(outcome, store.triage, store.config_read)
        return outcome

    def opened(self, issue: FakeIssue, action: str = "opened", **more: Any) -> Outcome:
        return self.run("issues", self.world.fake.payload(REPO, issue, action, **more))

    def edited(self, issue: FakeIssue, body: str) -> Outcome:
        issue.body = body
        return self.opened(issue, "edited", changes={"body": {"from": "x"}})

    def say(self, issue: FakeIssue, login: str, body: str) -> Outcome:
        comment = self.world.fake.add_comment(issue, login, body)
        data = {"id": comment.id, "body": body, "user": comment.user}
        payload = self.world.fake.payload(REPO, issue, "created", comment=data, sender=user(login))
        return self.run("issue_comment", payload)


def ours(issue: FakeIssue) -> list[FakeComment]:
    return [comment for comment in issue.comments if comment.user["login"] == ACTIONS_LOGIN]


@pytest.fixture
def workflow(world: World, fake_url: str) -> Workflow:
    world.fake.tokens[TOKEN] = 1
    world.fake.logins[TOKEN] = ACTIONS_LOGIN
    world.repo.permissions["boss"] = "admin"
    return Workflow(world, fake_url)


def test_shadow_writes_nothing_and_shows_what_it_would(workflow: Workflow) -> None:
    workflow.world.configure("labels: {symptom: {D.2.1: hang}}\n")
    outcome = workflow.opened(workflow.world.issue())
    assert (outcome.kind, workflow.world.fake.writes()) == ("shadow", [])
    assert "Shadow mode: nothing was written." in workflow.shown
    assert "Labels it would set: `hang`." in workflow.shown
    assert "This looks like a known failure: **NCCL picked" in workflow.shown
    assert "<!--" not in workflow.shown


def test_the_second_event_edits_the_first_one_s_comment(workflow: Workflow) -> None:
    workflow.world.configure(COMMENT)
    issue = workflow.world.issue()
    assert workflow.opened(issue).reason == "created"
    assert (
        workflow.edited(issue, "RuntimeError: NCCL error, connection refused by peer 10.0.0.1").reason
        == "edited"
    )
    [comment] = ours(issue)
    assert "connection refused by peer" in comment.body
    assert workflow.opened(issue, "reopened").kind == "unchanged"
    assert (len(ours(issue)), comment.edits) == (1, 1)


def test_labels_alone(workflow: Workflow) -> None:
    workflow.world.configure("mode: label\nlabels: {symptom: {D.2.1: hang}}\n")
    workflow.world.repo.labels.append("hang")
    issue = workflow.world.issue()
    assert workflow.opened(issue).labels_added == ("hang",)
    assert (issue.labels, ours(issue)) == (["hang"], [])
    assert "`hang` set" in workflow.shown


def test_a_correction_in_a_comment_outlives_the_run(workflow: Workflow) -> None:
    workflow.world.configure(COMMENT)
    issue = workflow.world.issue()
    workflow.opened(issue)
    assert workflow.say(issue, "boss", "/triage symptom=B.2").reason == "correct"
    assert "Set by a maintainer" in ours(issue)[0].body
    workflow.edited(issue, "RuntimeError: NCCL error, connection refused by peer 10.0.0.1")
    assert "Set by a maintainer" in ours(issue)[0].body
    assert len(ours(issue)) == 1


def test_a_dismissed_comment_stays_folded_until_a_maintainer_asks(workflow: Workflow) -> None:
    workflow.world.configure(COMMENT)
    issue = workflow.world.issue()
    workflow.opened(issue)
    workflow.say(issue, "boss", "/triage dismiss")
    folded = ours(issue)[0].body
    assert workflow.edited(issue, issue.body + " Again on rank 4.").reason == "dismissed"
    assert ours(issue)[0].body == folded
    workflow.say(issue, "boss", "/triage")
    assert workflow.edited(issue, issue.body + " And on rank 5.").reason == "edited"


def test_an_earlier_command_that_is_edited_undoes_no_later_one(workflow: Workflow) -> None:
    workflow.world.configure(COMMENT)
    issue = workflow.world.issue()
    workflow.opened(issue)
    workflow.say(issue, "reporter", "/triage explain")
    earlier = issue.comments[-1]
    workflow.say(issue, "boss", "/triage dismiss")
    folded = ours(issue)[0].body
    data = {"id": earlier.id, "body": earlier.body, "user": earlier.user}
    payload = workflow.world.fake.payload(REPO, issue, "edited", comment=data, sender=user("reporter"))
    assert workflow.run("issue_comment", payload).reason == "dismissed_by_maintainer"
    assert ours(issue)[0].body == folded


def test_somebody_without_rights_commands_nothing(workflow: Workflow) -> None:
    workflow.world.configure(COMMENT)
    issue = workflow.world.issue()
    workflow.opened(issue)
    assert workflow.say(issue, "stranger", "/triage dismiss").reason == "no_right"
    assert workflow.edited(issue, issue.body + " Again on rank 4.").reason == "edited"


def test_a_broken_file_means_shadow_and_is_shown(workflow: Workflow) -> None:
    workflow.world.configure("mode: bothh\n")
    assert workflow.opened(workflow.world.issue()).kind == "shadow"
    assert "bothh" in workflow.shown
    assert workflow.world.fake.writes() == []


def test_a_rate_limit_is_waited_for(workflow: Workflow) -> None:
    workflow.world.configure(COMMENT)
    issue = workflow.world.issue()
    workflow.world.fake.faults = once("POST", "/comments", Fault("retry_after", 7))
    assert workflow.opened(issue).reason == "created"
    assert workflow.waited == [7.0]
    assert len(ours(issue)) == 1


def test_a_lost_answer_leads_to_no_second_comment(workflow: Workflow) -> None:
    workflow.world.configure(COMMENT)
    issue = workflow.world.issue()
    workflow.world.fake.faults = once("POST", "/comments", Fault("drop_after"))
    workflow.opened(issue)
    assert len(ours(issue)) == 1


def test_a_token_without_rights_is_explained(workflow: Workflow) -> None:
    workflow.world.configure(COMMENT)
    workflow.world.fake.faults = once("POST", "/comments", Fault("403"))
    assert workflow.opened(workflow.world.issue()).reason == "forbidden"
    workflow.world.fake.revoked.add(TOKEN)
    with pytest.raises(UserError, match="issues: write"):
        workflow.opened(workflow.world.issue())


def test_what_is_no_issue_of_ours_is_left_alone(workflow: Workflow) -> None:
    issue = workflow.world.issue()
    issue.is_pull = True
    assert workflow.opened(issue).reason == "pull_request"
    assert workflow.run("push", {"installation": None}).kind == "ignored"
    gone = workflow.world.issue()
    payload = workflow.world.fake.payload(REPO, gone, "opened")
    gone.deleted = True
    assert workflow.run("issues", payload).reason == "gone"


def action() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "action.yml").read_text("utf-8")))


def test_the_action_is_pinned_and_lets_no_text_near_a_shell() -> None:
    assert action()["runs"]["using"] == "composite"
    for step in action()["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])
    assert set(action()["inputs"]) == {"token", "login"}
    assert action()["inputs"]["token"]["default"] == "${{ github.token }}"


def example() -> dict[str, Any]:
    text = (ROOT / "docs" / "github-action.md").read_text("utf-8")
    return dict(yaml.safe_load(text.split("```yaml\n")[1].split("```")[0]))


def test_the_documented_workflow_has_the_least_rights_and_one_run_an_issue() -> None:
    workflow = example()
    # YAML 1.1 reads `on` as true.
    assert workflow[True] == {
        "issues": {"types": ["opened", "edited", "reopened"]},
        "issue_comment": {"types": ["created", "edited"]},
    }
    assert workflow["permissions"] == {"contents": "read", "issues": "write"}
    [job] = workflow["jobs"].values()
    assert "github.event.issue.number" in workflow["concurrency"]["group"]
    assert "secrets." not in json.dumps(workflow)
    assert not job["steps"][0].keys() - {"uses", "with"}


MOST_SECONDS = 30
HANG = """Training with DistributedDataParallel dies in the second step on 2 GPUs, torch 2.1.

```
RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. This error \
indicates that your module has parameters that were not used in producing loss.
```
"""


def test_the_step_of_the_action_runs_as_a_runner_runs_it(workflow: Workflow, tmp_path: Path) -> None:
    """The bash of action.yml with the real engine: shadow writes nothing; comment writes one, then edits it."""
    [script] = [step["run"] for step in action()["runs"]["steps"] if step.get("id") == "triage"]
    (tmp_path / "distriage" / "venv" / "bin").mkdir(parents=True)
    bot = tmp_path / "distriage" / "venv" / "bin" / "bot"
    bot.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bot "$@"\n')
    bot.chmod(0o755)
    fake, world = workflow.world.fake, workflow.world

    def runs(event: str, payload: dict[str, Any]) -> str:
        del payload["installation"]
        (tmp_path / "event.json").write_text(json.dumps(payload), "utf-8")
        (tmp_path / "summary.md").unlink(missing_ok=True)
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")},
            "PYTHONPATH": str(ROOT),
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
            "GITHUB_EVENT_NAME": event,
            "GITHUB_API_URL": workflow.url,
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            "GITHUB_TOKEN": TOKEN,
            "LOGIN": ACTIONS_LOGIN,
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return (tmp_path / "summary.md").read_text("utf-8")

    issue = fake.open_issue(REPO, "DDP: error in the second iteration", HANG)
    shown = runs("issues", fake.payload(REPO, issue, "opened"))
    assert fake.writes() == []
    assert "find_unused_parameters" in shown

    world.configure(COMMENT)
    # The second run: a runner whose cache holds the converted model.
    before = os.times()
    runs("issues", fake.payload(REPO, issue, "reopened"))
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    # A cached runner has a minute for all steps; restoring 600 MB takes some twenty seconds of it.
    print(f"the Action's own step: {spent:.1f} s of processor time")
    assert spent < MOST_SECONDS
    [comment] = ours(issue)
    assert "find_unused_parameters" in comment.body

    fake.add_comment(
        issue,
        "reporter",
        f"```\nRuntimeError: CUDA error: out of memory\n{'x' * 10}\n```\nNow with torch 2.2",
    )
    added = issue.comments[-1]
    data = {"id": added.id, "body": added.body, "user": added.user}
    payload = fake.payload(REPO, issue, "created", comment=data, sender=added.user)
    runs("issue_comment", payload)
    assert len(ours(issue)) == 1
    assert comment.edits == 1
