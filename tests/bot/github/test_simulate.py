"""`bot simulate`: the same decisions without a write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.cli.github import describe, read_payload
from bot.github.offline import simulate
from bot.github.repo_config import ConfigError
from knowledge.errors import InputError
from tests.bot.fake_core import FakeCore, a_triage
from tests.bot.fake_github import FakeGitHub
from tests.bot.world import BODY, REPO

CORE = FakeCore()


def opened(**changes: Any) -> dict[str, Any]:
    fake = FakeGitHub()
    issue = fake.open_issue(REPO, "Training hangs", BODY)
    for name, value in changes.items():
        setattr(issue, name, value)
    return fake.payload(REPO, issue, "opened")


def test_in_shadow_it_shows_what_would_be_said() -> None:
    found = simulate(opened(), CORE)
    assert (found.mode, found.writes) == ("shadow", False)
    assert "known failure: **NCCL" in found.comment
    assert describe(found).startswith("mode shadow: would write nothing (known_failure)")


def test_with_a_configuration_it_shows_what_would_be_written() -> None:
    found = simulate(opened(), CORE, "mode: label\nlabels: {symptom: {D.2.1: hang}}\n")
    assert (found.writes, found.labels, found.comment) == (True, ("hang",), "")


def test_a_payload_of_a_repository_hook_will_do() -> None:
    payload = opened()
    del payload["installation"]
    assert simulate(payload, CORE).comment


@pytest.mark.parametrize("payload", [{}, {"zen": "x"}, {"title": 3}, {"action": "opened", "issue": {}}])
def test_what_is_no_payload_is_refused(payload: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="Use the payload"):
        simulate(payload, CORE)


def test_left_alone() -> None:
    assert simulate(opened(locked=True), CORE).reason == "ignored: locked"


def test_silent_where_no_known_failure_matches() -> None:
    core = FakeCore(lambda report: a_triage(report, findings=[]))
    found = simulate(opened(), core, "mode: comment\n")
    assert (found.reason, found.writes, found.comment) == ("nothing_specific", False, "")


def test_a_command() -> None:
    comment = {"id": 1, "body": "/triage off", "user": {"login": "maria"}}
    payload = {**opened(), "action": "created", "comment": comment}
    assert simulate(payload, CORE).reason == "command: off"


def test_a_broken_configuration_is_told() -> None:
    with pytest.raises(ConfigError):
        simulate(opened(), CORE, "mode: loud")


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000])
def test_what_is_no_payload_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "payload.json"
    path.write_text(text)
    with pytest.raises(InputError):
        read_payload(path)


def test_a_saved_issue_is_no_payload_and_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "issue.json"
    path.write_text(json.dumps({"title": "Training hangs", "number": 5, "body": "It hangs."}))
    with pytest.raises(InputError) as told:
        read_payload(path)
    assert "is an issue, not a webhook payload" in str(told.value.message)
    assert "bot triage" in told.value.remedy


def test_a_payload_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "payload.json"
    path.write_text(json.dumps(opened()))
    assert read_payload(path)["action"] == "opened"
