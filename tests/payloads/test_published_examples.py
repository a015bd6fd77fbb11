"""GitHub's own published payloads, from the npm package @octokit/webhooks-examples.

`make test-payloads` installs the package and says in NPM_MODULES where; without it these tests skip and say so.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bot.github.events import (
    CommandGiven,
    Ignored,
    InstallationChanged,
    IssueText,
    LabelChanged,
    parse,
)
from bot.github.payload import storable

MODULES = Path(os.environ.get("NPM_MODULES", Path(__file__).parents[2] / "node_modules"))
PACKAGE = MODULES / "@octokit" / "webhooks-examples"
OURS = {"issues", "issue_comment", "installation", "installation_repositories"}


def examples() -> list[tuple[str, int, dict[str, Any]]]:
    files = sorted(PACKAGE.rglob("index.json")) if PACKAGE.exists() else []
    events = json.loads(files[0].read_text("utf-8")) if files else []
    return [(e["name"], n, data) for e in events for n, data in enumerate(e["examples"])]


EXAMPLES = examples()
pytestmark = pytest.mark.skipif(
    not EXAMPLES, reason="@octokit/webhooks-examples is not installed: make test-payloads"
)


def test_there_are_examples_of_all_our_events() -> None:
    assert {name for name, _, _ in EXAMPLES} >= OURS | {"ping"}


@pytest.mark.parametrize(("name", "n", "data"), EXAMPLES, ids=[f"{name}-{n}" for name, n, _ in EXAMPLES])
def test_a_published_payload_is_understood(name: str, n: int, data: dict[str, Any]) -> None:
    event = parse(name, data)
    assert not (isinstance(event, Ignored) and event.reason == "malformed")
    for keep_text in (True, False):
        kept = storable(data, keep_text)
        again = parse(name, kept)
        assert type(again) is type(event) or isinstance(event, CommandGiven)


@pytest.mark.parametrize(
    ("name", "action", "kind"),
    [
        ("issues", "opened", IssueText),
        ("issues", "labeled", LabelChanged),
        ("issues", "unlabeled", LabelChanged),
        ("installation", "created", InstallationChanged),
        ("installation", "deleted", InstallationChanged),
        ("installation_repositories", "added", InstallationChanged),
        ("installation_repositories", "removed", InstallationChanged),
    ],
)
def test_our_events_become_what_they_are(name: str, action: str, kind: type) -> None:
    found = [d for e, _, d in EXAMPLES if e == name and d.get("action") == action]
    assert found
    for data in found:
        assert isinstance(parse(name, {"installation": {"id": 1}, **data}), kind)
