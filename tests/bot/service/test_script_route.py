"""The link to a whole diagnostics script: made for one issue, guessed by nobody."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import SecretStr

from bot.github.routes import ScriptLinks
from bot.github.store.postgres import PostgresStore
from bot.settings import Settings
from tests.bot.fake_core import a_triage
from tests.bot.service.conftest import OpenService
from tests.bot.service.test_page import client_of, issue, record

LINKS = ScriptLinks("page secret", "https://triage.example.org")


def test_a_link_leads_back_to_its_issue() -> None:
    link = LINKS.link(issue(3))
    assert link is not None
    token = link.removeprefix("https://triage.example.org/d/").removesuffix(".sh")
    assert LINKS.issue(token) == (issue(3).repo.id, 3)


@pytest.mark.parametrize("token", ["", "x", "WzcwMCwzXQ.forged", ScriptLinks("other", None).token(700, 3)])
def test_a_forged_token_leads_nowhere(token: str) -> None:
    assert LINKS.issue(token) is None


def test_without_a_public_address_there_is_no_link() -> None:
    assert ScriptLinks.of(Settings(admin_secret=SecretStr("s"))).link(issue(3)) is None


def test_the_newest_script_is_served_and_a_guess_is_not(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SecretStr("page secret")) as service, client_of(service) as client:
            path = f"/d/{LINKS.token(issue(3).repo.id, 3)}.sh"
            assert (await client.get(path)).status_code == 404
            PostgresStore(service.threads).save_triage(record(issue(3)))
            answer = await client.get(path)
            assert answer.status_code == 200
            assert answer.text == a_triage().script
            assert answer.headers["content-type"].startswith("text/plain")
            assert (await client.get("/d/guess.sh")).status_code == 404

    asyncio.run(go())
