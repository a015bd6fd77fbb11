"""`bot doctor` on the GitHub App: what is missing or wrong, each with what to do about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.ports import Checked
from bot.serve.doctor import NEEDED, github_findings
from bot.settings import Settings
from tests.bot.fake_github import APP_ID
from tests.bot.world import World

DOCS = Path(__file__).parents[3] / "docs"


def examined(world: World, url: str, **more: Any) -> list[Checked]:
    values: dict[str, Any] = {
        "github_webhook_secret": SecretStr("s"),
        "github_app_id": APP_ID,
        "github_private_key": SecretStr(world.fake.private_key),
        "github_api_url": url,
        **more,
    }
    return github_findings(Settings(**values))


def test_an_app_that_signs_in_with_its_permissions_is_fine(world: World, fake_url: str) -> None:
    assert [f.state for f in examined(world, fake_url)] == ["ok"]


def test_permissions_are_those_of_the_manifest_no_fewer_and_no_more(world: World, fake_url: str) -> None:
    manifest = json.loads((DOCS / "github-app-manifest.json").read_text("utf-8"))
    assert manifest["default_permissions"] == NEEDED
    world.fake.permissions = {"issues": "read", "metadata": "read", "administration": "write"}
    _, lacking, more = examined(world, fake_url)
    assert (lacking.state, lacking.text) == (
        "broken",
        "the App is missing permissions (issues: write, contents: read)",
    )
    assert "administration: write" in more.text


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"github_app_id": 1}, "can't sign in (HTTP 401)"),
        ({"url": "http://127.0.0.1:1"}, "can't sign in (HTTP none)"),
        ({"github_private_key": SecretStr("-----BEGIN RSA PRIVATE KEY-----")}, "isn't a PEM key"),
    ],
)
def test_what_is_wrong_is_told_with_a_remedy(
    world: World, fake_url: str, wrong: dict[str, Any], text: str
) -> None:
    [finding] = examined(world, **{"url": fake_url, **wrong})
    assert finding.state == "broken"
    assert text in finding.text
    assert finding.remedy


def test_without_an_app_every_lacking_setting_is_named() -> None:
    found = github_findings(Settings())
    assert {f.state for f in found} == {"missing"}
    assert [f.text.split()[0] for f in found][:2] == [
        "DISTRIAGE_GITHUB_WEBHOOK_SECRET",
        "DISTRIAGE_GITHUB_APP_ID",
    ]


def test_github_is_no_problem_of_who_runs_slack_alone(world: World, fake_url: str) -> None:
    nothing = {"github_webhook_secret": None, "github_app_id": None, "github_private_key": None}
    [found] = examined(world, fake_url, **nothing, slack_signing_secret=SecretStr("s"))
    assert (found.state, found.text) == ("ok", "not set up; only Slack is")
    assert len(examined(world, fake_url, **nothing)) == 3
    begun = examined(world, fake_url, **(nothing | {"github_app_id": 5}), slack_signing_secret=SecretStr("s"))
    assert [found.state for found in begun] == ["missing", "missing"]
