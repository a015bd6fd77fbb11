"""`bot doctor` on Slack: what is off, wrong or lacking, each with what to do about it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from bot.cli.app import app
from bot.db.connect import upgrade
from bot.ports import Checked
from bot.settings import Settings
from bot.slack.doctor import WITHOUT, slack_findings
from bot.slack.install import SCOPES
from knowledge.errors import SettingsError
from tests.bot.service.conftest import OpenService
from tests.bot.slack.bench import KEY, SECRET, bench
from tests.bot.slack.fake_slack import TOKEN, FakeSlack
from tests.bot.slack.test_installing import CLIENT, GRANT, come_back, set_out


def examined(fake: FakeSlack, **more: Any) -> list[Checked]:
    base: dict[str, Any] = {
        "slack_signing_secret": SecretStr(SECRET),
        "slack_token_key": SecretStr(KEY),
        "slack_bot_token": SecretStr(TOKEN),
        "slack_api_url": f"{fake.url}/api/",
    }
    return list(slack_findings(Settings(**{**base, **more})))


def told(findings: list[Checked], state: str) -> list[str]:
    found = [finding for finding in findings if finding.state == state]
    assert all(finding.remedy for finding in found if state != "ok")
    return [finding.text for finding in found]


def test_all_is_well(fake: FakeSlack) -> None:
    findings = examined(fake)
    assert {finding.state for finding in findings} == {"ok"}
    assert told(findings, "ok") == ["the key that encrypts tokens is set", "the token works in 'Acme'"]


def test_slack_that_is_off_is_no_fault_unless_a_token_says_otherwise(fake: FakeSlack) -> None:
    (off,) = examined(fake, slack_signing_secret=None, slack_bot_token=None)
    assert (off.state, off.text) == ("missing", "DISTRIAGE_SLACK_SIGNING_SECRET is not set")
    (half,) = examined(fake, slack_signing_secret=None)
    assert half.state == "broken"
    assert "even though DISTRIAGE_SLACK_BOT_TOKEN is" in half.text


def test_a_quoted_secret_and_a_short_key_are_named(fake: FakeSlack) -> None:
    assert (
        "quotes around it" in told(examined(fake, slack_signing_secret=SecretStr(f'"{SECRET}"')), "broken")[0]
    )
    with pytest.raises(SettingsError, match="fewer than 32"):
        examined(fake, slack_token_key=SecretStr("short"))


@pytest.mark.parametrize("scope", SCOPES)
def test_each_scope_that_is_lacking_is_named_with_what_it_costs(fake: FakeSlack, scope: str) -> None:
    fake.scopes.discard(scope)
    assert told(examined(fake), "missing") == [f"the token lacks {scope}: {WITHOUT[scope]}"]


def test_tokens_that_do_not_work_are_told_apart(fake: FakeSlack) -> None:
    assert told(examined(fake, slack_bot_token=SecretStr("xoxb-gone")), "broken") == [
        "Slack refuses the token: invalid_auth"
    ]
    fake.tokens.add("xoxp-person")
    assert "is not a bot token" in told(examined(fake, slack_bot_token=SecretStr("xoxp-person")), "broken")[0]
    short = fake.grant("first")["access_token"]
    assert (
        "expires within twelve hours" in told(examined(fake, slack_bot_token=SecretStr(short)), "broken")[0]
    )
    nowhere = examined(fake, slack_api_url="http://127.0.0.1:9/api/")
    assert told(nowhere, "broken") == ["Slack does not answer"]


def test_no_token_at_all_is_said_so(fake: FakeSlack) -> None:
    assert told(examined(fake, slack_bot_token=None), "missing")[0].startswith("no token: set DISTRIAGE_")


def test_a_clock_that_is_off_is_noticed(fake: FakeSlack) -> None:
    fake.moment = lambda: 1_000_000_000
    (text,) = told(examined(fake), "broken")
    assert text.startswith("this machine's clock differs from Slack's by ")


def test_installations_are_looked_at_one_by_one(opened: OpenService, fake: FakeSlack, database: str) -> None:
    by_oauth = {**CLIENT, "slack_bot_token": None, "database_url": SecretStr(database)}

    async def go() -> None:
        async with bench(opened, fake, **CLIENT) as b:
            for team in ("T1", "T2"):
                fake.codes["good"] = {
                    **GRANT,
                    "access_token": f"xoxb-{team}",
                    "team": {"id": team, "name": team},
                }
                assert (await come_back(b, *await set_out(b))).status_code == 200

    upgrade(database)
    nowhere = examined(fake, **by_oauth)
    assert told(nowhere, "missing") == ["installed nowhere"]
    assert nowhere[-1].remedy == "Open https://triage.example/slack/install and install it."
    asyncio.run(go())
    fake.tokens.discard("xoxb-T2")
    findings = examined(fake, **by_oauth)
    assert "the token of T1 works in 'Acme'" in told(findings, "ok")
    assert told(findings, "broken") == ["Slack refuses the token of T2: invalid_auth"]
    other_key = examined(fake, **by_oauth, slack_token_key=SecretStr("n" * 40))
    assert [text for text in told(other_key, "broken") if "can't read or renew" in text] == [
        f"can't read or renew the token of {team}" for team in ("T2", "T1")
    ]
    plain = examined(fake, **{**by_oauth, "public_url": "http://triage.example"})
    assert "people cannot install the app through http://triage.example" in told(plain, "broken")


def test_the_command_prints_the_findings(
    fake: FakeSlack, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("DATABASE_URL", database),
        ("SLACK_SIGNING_SECRET", SECRET),
        ("SLACK_TOKEN_KEY", KEY),
        ("SLACK_BOT_TOKEN", "xoxb-gone"),
        ("SLACK_API_URL", f"{fake.url}/api/"),
    ):
        monkeypatch.setenv(f"DISTRIAGE_{name}", value)
    printed = CliRunner().invoke(app, ["doctor"])
    assert printed.exit_code == 1
    assert "broken  slack: Slack refuses the token: invalid_auth" in printed.output
    assert "-> Install the app again." in printed.output
    assert "xoxb-gone" not in printed.output
