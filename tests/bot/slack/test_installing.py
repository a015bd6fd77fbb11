"""Installing by OAuth, tokens encrypted at rest, uninstalling."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from bot.settings import Settings
from bot.slack.install import COOKIE
from bot.slack.tokens import Sealed, Vault
from knowledge.errors import SettingsError
from tests.bot.service.conftest import OpenService
from tests.bot.slack.bench import KEY, Bench, bench
from tests.bot.slack.fake_slack import FakeSlack
from tests.bot.slack.limits import shown

CLIENT: dict[str, Any] = {
    "slack_client_id": "1.2",
    "slack_client_secret": SecretStr("cs"),
    "public_url": "https://triage.example",
}
GRANT = {
    "access_token": "xoxb-team-secret",
    "token_type": "bot",
    "scope": "commands,chat:write",
    "bot_user_id": "B1",
    "team": {"id": "T1", "name": "Acme <!channel>"},
    "enterprise": None,
    "is_enterprise_install": False,
}


async def set_out(b: Bench) -> tuple[str, str]:
    """The state and the cookie of an installation under way."""
    there = await b.client.get("/slack/install")
    assert there.status_code == 302
    query = parse_qs(urlsplit(there.headers["location"]).query)
    assert query["redirect_uri"] == ["https://triage.example/slack/oauth_redirect"]
    cookie = there.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "Secure", "SameSite=lax"))
    return query["state"][0], cookie.split(";")[0].partition("=")[2]


async def come_back(b: Bench, state: str, cookie: str | None, code: str = "good") -> Any:
    headers = {"cookie": f"{COOKIE}={cookie}"} if cookie else {}
    b.client.cookies.clear()
    return await b.client.get("/slack/oauth_redirect", params={"state": state, "code": code}, headers=headers)


def test_an_installation_keeps_the_token_encrypted_and_answers_with_it(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake, **CLIENT) as b, b.worker():
            fake.codes["good"] = GRANT
            page = await come_back(b, *await set_out(b))
            assert page.status_code == 200
            assert page.headers["content-type"].startswith("text/plain")
            with b.service.threads.connection() as connection:
                (row,) = connection.execute("SELECT t::text FROM slack_installations AS t").fetchall()
            assert "xoxb-team-secret" not in str(row)
            assert b.ports.tokens.token("T1") == "xoxb-team-secret"
            assert b.ports.tokens.token("T2") is None
            assert "Only you see this." in shown(await b.triaged())
            await b.command("")
            assert len(fake.views) == 1

    asyncio.run(go())


def test_a_state_that_is_forged_old_or_anothers_installs_nothing(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake, **CLIENT) as b:
            fake.codes["good"] = GRANT
            state, cookie = await set_out(b)
            _, other = await set_out(b)
            for wrong_state, wrong_cookie in (
                (state, None),
                (state, other),
                (state[:-2], cookie),
                ("", cookie),
                ("\u00ff\ud7ff", cookie),
                (cookie, cookie),
            ):
                assert (await come_back(b, wrong_state, wrong_cookie)).status_code == 400
            assert (await come_back(b, state, cookie, code="")).status_code == 400
            assert (await come_back(b, state, cookie, code="unknown")).status_code == 502
            fake.codes["user"] = {**GRANT, "token_type": "user"}
            assert (await come_back(b, state, cookie, code="user")).status_code == 502
            assert b.ports.store.installation("T1") is None

    asyncio.run(go())


def test_an_organisation_installs_once_for_all_its_teams(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake, **CLIENT) as b:
            fake.codes["good"] = {
                **GRANT, "team": None, "enterprise": {"id": "E1", "name": "Org"}, "is_enterprise_install": True
            }  # fmt: skip
            assert (await come_back(b, *await set_out(b))).status_code == 200
            await b.command("", enterprise_id="E1", is_enterprise_install="true", team_id="T7")
            assert len(fake.views) == 1

    asyncio.run(go())


@pytest.mark.parametrize(
    "event", [{"type": "app_uninstalled"}, {"type": "tokens_revoked", "tokens": {"bot": ["B1"]}}]
)
def test_uninstalling_deletes_the_token_and_what_was_kept(
    opened: OpenService, fake: FakeSlack, event: dict[str, Any]
) -> None:
    async def go() -> None:
        async with bench(opened, fake, **CLIENT) as b, b.worker():
            fake.codes["good"] = GRANT
            await come_back(b, *await set_out(b))
            await b.triaged()
            b.clock.shift += timedelta(seconds=5)
            fake.tokens.clear()
            await b.event(event)
            await b.settled()
            assert b.ports.store.installation("T1") is None
            with b.service.threads.connection() as connection:
                for table in ("slack_triages", "slack_calls"):
                    assert connection.execute(f"SELECT * FROM {table}".encode()).fetchall() == []
                kept = connection.execute("SELECT event FROM deliveries").fetchall()
            assert len(kept) == 1, "its own"

    asyncio.run(go())


def test_a_late_word_of_an_uninstall_leaves_the_new_installation(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake, **CLIENT) as b, b.worker():
            fake.codes["good"] = GRANT
            await come_back(b, *await set_out(b))
            await b.event({"type": "app_uninstalled"}, event_time=int(b.clock.now().timestamp()) - 60)
            ends = await b.settled()
            assert ends[-1].reason == "installed again since"
            assert b.ports.tokens.token("T1") is not None
            await b.event({"type": "tokens_revoked", "tokens": {"oauth": ["U1"], "bot": []}})
            assert b.ports.tokens.token("T1") is not None

    asyncio.run(go())


def test_a_word_of_revoked_tokens_is_checked_before_anything_is_deleted(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake, **CLIENT) as b, b.worker():
            fake.codes["good"] = GRANT
            await come_back(b, *await set_out(b))
            b.clock.shift += timedelta(seconds=5)
            await b.event({"type": "tokens_revoked", "tokens": {"bot": ["B1"]}})
            assert (await b.settled())[-1].reason == "the token still works"
            assert b.ports.tokens.token("T1") is not None

    asyncio.run(go())


def test_uninstalling_deletes_what_still_waits(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake, **CLIENT) as b:
            fake.codes["good"] = GRANT
            await come_back(b, *await set_out(b))
            await b.command("a log that nobody has read yet")
            b.clock.shift += timedelta(seconds=5)
            at = datetime.fromtimestamp(b.clock.now().timestamp(), UTC)
            assert b.ports.store.uninstall("T1", at)
            async with b.worker():
                await b.command("somebody elsewhere", team_id="T2")
                (other,) = await b.settled()
            assert other.payload["workspace"] == "T2"
            assert "nobody has read" not in str(fake.private)

    asyncio.run(go())


def test_with_another_key_a_token_counts_as_none(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake, **CLIENT) as b:
            fake.codes["good"] = GRANT
            await come_back(b, *await set_out(b))
        async with bench(opened, fake, **CLIENT, slack_token_key=SecretStr("n" * 40)) as b:
            assert b.ports.tokens.token("T1") is None
        async with bench(opened, fake, **CLIENT, slack_token_key=SecretStr("n" * 40 + "," + KEY)) as b:
            assert b.ports.tokens.token("T1") == "xoxb-team-secret"

    asyncio.run(go())


@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_the_vault_gives_back_what_it_was_given(text: str) -> None:
    vault = Vault([KEY])
    sealed = vault.seal(text)
    assert vault.open(sealed) == text
    changed = sealed[:-4] + ("AAAA" if sealed[-4:] != "AAAA" else "BBBB")
    with pytest.raises(Sealed):
        vault.open(changed)


def test_a_short_key_is_refused_and_none_makes_one(tmp_path: Any) -> None:
    with pytest.raises(SettingsError, match="fewer than 32"):
        Vault.of(Settings(slack_token_key=SecretStr("short")))
    settings = Settings(data_dir=tmp_path)
    assert Vault.of(settings).open(Vault.of(settings).seal("x")) == "x"
