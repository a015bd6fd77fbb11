"""Signing in to the page with GitHub: who gets in, what they see, and that nobody gets in by another way."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from pydantic import SecretStr

from bot.github.records import IssueRef, RepoRef
from bot.github.store.postgres import PostgresStore
from bot.page.github_sign_in import Person, Sessions
from bot.runtime.resources import Service
from tests.bot.fake_github import CLIENT, FakeGitHub, serve
from tests.bot.service.conftest import OpenService
from tests.bot.service.test_page import client_of, forms, issue, opened_triage, record


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[FakeGitHub, str]]:
    state = FakeGitHub()
    with serve(state) as url:
        yield state, url


@pytest.fixture
def github(served: tuple[FakeGitHub, str]) -> FakeGitHub:
    """Maria may write to octo/train and read octo/secret; lee may read both."""
    fake = served[0]
    fake.reset()
    fake.repo("octo/train").permissions = {"maria": "write", "lee": "read"}
    fake.repo("octo/secret").permissions = {"maria": "read", "lee": "read"}
    fake.browser = "maria"
    return fake


@pytest.fixture
def settings(served: tuple[FakeGitHub, str]) -> dict[str, Any]:
    return {
        "admin_secret": SecretStr("page secret"),
        "github_api_url": served[1],
        "github_client_id": CLIENT[0],
        "github_client_secret": SecretStr(CLIENT[1]),
    }


def fill(service: Service, github: FakeGitHub) -> None:
    """A triage of each repository; numbers 1 and 2."""
    for name in ("octo/train", "octo/secret"):
        ref = IssueRef(1, RepoRef(github.repo(name).id, name), 12)
        PostgresStore(service.threads).save_triage(record(ref))


async def to_github(client: httpx2.AsyncClient) -> str:
    """Where the page sends a browser that wants to sign in, and where GitHub sends it back to."""
    start = await client.get("/sign-in/github", follow_redirects=False)
    async with httpx2.AsyncClient(follow_redirects=False) as browser:
        return str((await browser.get(start.headers["location"])).headers["location"])


async def sign_in(client: httpx2.AsyncClient) -> httpx2.Response:
    return await client.get(await to_github(client))


def test_who_may_write_to_a_repository_sees_and_corrects_that_one_alone(
    opened: OpenService, settings: dict[str, Any], github: FakeGitHub
) -> None:
    async def go() -> None:
        async with opened(**settings) as service, client_of(service) as client:
            fill(service, github)
            assert 'href="/sign-in/github"' in (await client.get("/")).text
            page = await sign_in(client)
            assert page.status_code == 200
            assert "octo/train#12" in page.text
            assert "octo/secret" not in page.text
            assert "maria" in page.text
            for path in ("/triages/2", "/triages/2/issue"):
                assert (await client.get(path)).status_code == 404
            assert "octo/secret" not in (await client.get("/?repo=octo/secret")).text
            form = forms(await opened_triage(client))[0]
            assert (await client.post("/corrections", data={**form, "triage": "2"})).status_code == 404
            assert (await client.post("/corrections", data=form)).status_code == 200
            ref = IssueRef(1, RepoRef(github.repo("octo/train").id, "octo/train"), 12)
            [given] = PostgresStore(service.threads).corrections(ref)
            assert given.by == "maria"

    asyncio.run(go())


def test_after_an_installation_the_rights_are_read_again_and_the_replays_come(
    opened: OpenService, settings: dict[str, Any], github: FakeGitHub
) -> None:
    async def go() -> None:
        async with opened(**settings) as service, client_of(service) as client:
            await sign_in(client)
            waits = await client.get("/installed?setup_action=request")
            assert "has to approve" in waits.text
            for address in (
                "/installed?installation_id=1&setup_action=install",
                "/sign-in/github?to=replays",
            ):
                begun = await client.get(address, follow_redirects=False)
                if "to=" not in address:
                    assert begun.headers["location"] == "/sign-in/github?to=replays"
            async with httpx2.AsyncClient(follow_redirects=False) as browser:
                back = str((await browser.get(begun.headers["location"])).headers["location"])
            assert str((await client.get(back)).url).endswith("/replays")
            begun = await client.get("/sign-in/github?to=https://evil.example", follow_redirects=False)
            async with httpx2.AsyncClient(follow_redirects=False) as browser:
                back = str((await browser.get(begun.headers["location"])).headers["location"])
            assert (await client.get(back, follow_redirects=False)).headers["location"] == "/"

    asyncio.run(go())


@pytest.mark.parametrize("person", ["lee", "stranger"])
def test_who_may_only_read_does_not_get_in(
    opened: OpenService, settings: dict[str, Any], github: FakeGitHub, person: str
) -> None:
    async def go() -> None:
        async with opened(**settings) as service, client_of(service) as client:
            fill(service, github)
            github.browser = person
            answer = await sign_in(client)
            assert answer.status_code == 403
            assert "You have no write access" in answer.text
            assert (await client.get("/")).status_code == 401

    asyncio.run(go())


def test_only_an_answer_to_this_browser_counts_and_once(
    opened: OpenService, settings: dict[str, Any], github: FakeGitHub
) -> None:
    async def go() -> None:
        async with opened(**settings) as service:
            async with client_of(service) as victim, client_of(service) as attacker:
                theirs = await to_github(attacker)
                # Somebody else's answer, with and without a sign-in of one's own under way.
                assert (await victim.get(theirs)).status_code == 403
                mine = await to_github(victim)
                assert (await victim.get(theirs)).status_code == 403
                code = parse_qs(urlsplit(mine).query)["code"][0]
                for state in ("", "x"):
                    bad = {"code": code, "state": state}
                    assert (await victim.get("/sign-in/github/callback", params=bad)).status_code == 403
                # GitHub refuses a code that was asked for with another verifier (PKCE).
                own_state = parse_qs(urlsplit(mine).query)["state"][0]
                swapped = {"code": parse_qs(urlsplit(theirs).query)["code"][0], "state": own_state}
                assert (await victim.get("/sign-in/github/callback", params=swapped)).status_code == 403
                assert (await victim.get(mine)).status_code == 200
                victim.cookies.clear()
                assert (await victim.get(mine)).status_code == 403
            assert github.user_tokens == {"ghu_0": "maria"}

    asyncio.run(go())


def test_the_session_is_short_and_ends_with_a_sign_out(
    opened: OpenService, settings: dict[str, Any], github: FakeGitHub
) -> None:
    async def go() -> None:
        async with opened(**settings) as service, client_of(service) as client:
            fill(service, github)
            answer = await client.get(await to_github(client), follow_redirects=False)
            cookie = next(
                c for c in answer.headers.get_list("set-cookie") if c.startswith("distriage_github=")
            )
            assert "Max-Age=3600" in cookie
            assert "HttpOnly" in cookie
            assert "SameSite=lax" in cookie
            page = (await client.get("/")).text
            token = re.search(r'name="form_token" value="([^"]*)"', page)
            kept = client.cookies.get("distriage_github")
            assert token is not None and kept is not None
            assert (await client.post("/sign-out", data={"form_token": "x"})).status_code == 403
            assert (await client.get("/")).status_code == 200
            assert (await client.post("/sign-out", data={"form_token": token[1]})).status_code == 200
            # A copy of the cookie is worth nothing either.
            client.cookies.set("distriage_github", kept, domain="127.0.0.1")
            assert (await client.get("/")).status_code == 401

    asyncio.run(go())


def test_a_session_ends_after_its_hour_and_the_database_holds_no_cookie(
    opened: OpenService, settings: dict[str, Any]
) -> None:
    async def go() -> None:
        async with opened(**settings) as service:
            sessions = Sessions(service.threads)
            cookie = sessions.open(Person("maria", (5, 6)))
            found = sessions.session(cookie)
            assert found is not None
            assert (found.login, found.repos, found.installation) == ("maria", (5, 6), None)
            with service.threads.connection() as connection:
                assert cookie not in str(connection.execute("SELECT * FROM page_sessions").fetchall())
                connection.execute("UPDATE page_sessions SET expires = now() - interval '1 second'")
            assert sessions.session(cookie) is None
            sessions.open(Person("lee", (5,)))
            with service.threads.connection() as connection:
                left = connection.execute("SELECT login FROM page_sessions").fetchall()
            assert left == [("lee",)]

    asyncio.run(go())


def test_repositories_of_several_pages_and_installations_are_found(
    opened: OpenService, settings: dict[str, Any], github: FakeGitHub
) -> None:
    async def go() -> None:
        async with opened(**settings) as service, client_of(service) as client:
            github.installations[2] = {"id": 2, "account": {"login": "other"}}
            for n in range(230):
                repo = github.repo(f"octo/many{n}")
                repo.permissions, repo.installation = {"maria": "write" if n % 2 else "read"}, 2
            await sign_in(client)
            found = Sessions(service.threads).session(client.cookies.get("distriage_github"))
            assert found is not None and found.repos is not None
            assert len(found.repos) == 1 + 115

    asyncio.run(go())


def test_github_out_of_reach_is_said_in_words(opened: OpenService, settings: dict[str, Any]) -> None:
    async def go() -> None:
        down = settings | {"github_api_url": "http://127.0.0.1:9"}
        async with opened(**down) as service, client_of(service) as client:
            start = await client.get("/sign-in/github", follow_redirects=False)
            state = parse_qs(urlsplit(start.headers["location"]).query)["state"][0]
            answer = await client.get("/sign-in/github/callback", params={"code": "c", "state": state})
            assert answer.status_code == 502
            assert "reach GitHub" in answer.text

    asyncio.run(go())


def test_without_a_client_there_is_no_sign_in_with_github(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SecretStr("s")) as service, client_of(service) as client:
            PostgresStore(service.threads).save_triage(record(issue(1)))
            assert "/sign-in/github" not in (await client.get("/")).text
            assert (await client.get("/sign-in/github")).status_code == 404

    asyncio.run(go())


def test_creating_an_app_needs_a_link(
    opened: OpenService, settings: dict[str, Any], github: FakeGitHub
) -> None:
    async def go() -> None:
        async with opened(**settings) as service, client_of(service) as client:
            await sign_in(client)
            assert (await client.get("/github/new")).status_code == 401

    asyncio.run(go())
