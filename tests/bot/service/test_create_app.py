"""One click to a GitHub App: who may start it, that the answer belongs to the form, and where the key ends up."""

from __future__ import annotations

import asyncio
import json
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from pydantic import SecretStr
from pytest_httpserver import HTTPServer
from typer.testing import CliRunner

from bot.cli.app import app
from bot.page.create_app import CreatedApp, States, keep, manifest
from bot.page.sign_in import Session, SignIn
from bot.settings import CREATED_APP, Settings, load_service_settings
from knowledge.errors import SettingsError
from tests.bot.fake_github import FakeGitHub
from tests.bot.service.conftest import OpenService
from tests.bot.service.test_page import on_a_socket

SECRET = SecretStr("page secret")
KEY = FakeGitHub().private_key
APP = {
    "id": 99,
    "slug": "distriage-acme",
    "pem": KEY,
    "webhook_secret": "from github",
    "client_id": "Iv1.x",
    "client_secret": "for signing in",
}
DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture
def settings(httpserver: HTTPServer, tmp_path: Path) -> dict[str, Any]:
    return {
        "admin_secret": SECRET,
        "public_url": "http://triage.example.org",
        "github_api_url": httpserver.url_for("/api/v3"),
        "data_dir": tmp_path,
    }


def signed_in(port: int, installation: int | None = None) -> httpx2.AsyncClient:
    client = httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", follow_redirects=True)
    sign_in = SignIn(SECRET.get_secret_value())
    session = sign_in.enter(parse_qs(urlsplit(sign_in.link("http://x", 600, installation)).query)["token"][0])
    assert session is not None
    client.cookies.set("distriage", sign_in.cookie(session), domain="127.0.0.1")
    return client


@contextmanager
def github(httpserver: HTTPServer, answer: dict[str, Any], status: int = 201) -> Iterator[None]:
    """GitHub's end of the conversion; a code is good once."""
    url = "/api/v3/app-manifests/one-code/conversions"
    httpserver.expect_oneshot_request(url, method="POST").respond_with_json(answer, status)
    yield


def test_a_click_leads_to_github_and_back_to_a_key_that_only_the_owner_reads(
    opened: OpenService,
    settings: dict[str, Any],
    httpserver: HTTPServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def go() -> None:
        async with opened(**settings) as service, on_a_socket(service) as port, signed_in(port) as client:
            form = await client.get("/github/new?organization=acme")
            action = urlsplit(unescape(re.findall(r'action="([^"]+/settings/apps/new[^"]+)"', form.text)[0]))
            assert action.path == "/organizations/acme/settings/apps/new"
            assert action.netloc in form.headers["content-security-policy"]
            sent = json.loads(unescape(re.findall(r'name="manifest" value="([^"]+)"', form.text)[0]))
            assert sent["redirect_url"] == "http://triage.example.org/github/created"
            assert sent["setup_url"] == "http://triage.example.org/installed"
            query = {"code": "one-code", "state": parse_qs(action.query)["state"][0]}
            with github(httpserver, APP):
                done = await client.get("/github/created", params=query)
            assert done.status_code == 200
            assert "/apps/distriage-acme/installations/new" in done.text
            assert 'href="/replays"' in done.text
            assert KEY.splitlines()[1] not in done.text
            assert "for signing in" not in done.text
            # Once there is an App, both routes are gone.
            assert (await client.get("/github/new")).status_code == 404
            assert (await client.get("/github/created", params=query)).status_code == 404

    asyncio.run(go())
    file = tmp_path / CREATED_APP
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [CREATED_APP]
    monkeypatch.setenv("DISTRIAGE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("DISTRIAGE_GITHUB_WEBHOOK_SECRET", "from before")
    found = load_service_settings()
    assert (found.github_app_id, found.read_private_key()) == (99, KEY)
    assert found.webhook_secrets == (b"from github", b"from before")
    assert found.missing_github == []
    assert found.github_client_id == "Iv1.x"
    assert found.github_client_secret is not None
    assert found.github_client_secret.get_secret_value() == "for signing in"


def test_only_an_answer_to_this_form_by_this_person_counts(
    opened: OpenService, settings: dict[str, Any], httpserver: HTTPServer, tmp_path: Path
) -> None:
    async def go() -> None:
        async with opened(**settings) as service, on_a_socket(service) as port, signed_in(port) as client:
            session = SignIn(SECRET.get_secret_value()).session(client.cookies.get("distriage"))
            assert session is not None
            good = States(SECRET.get_secret_value()).make(session)
            another = States(SECRET.get_secret_value()).make(type(session)(session.expires, None, "another"))
            forged = States("another secret").make(session)
            for state in ("", "x", another, forged, good[:-1]):
                answer = await client.get("/github/created", params={"code": "one-code", "state": state})
                assert answer.status_code == 403
            for code in ("", "../app", "a" * 300):
                answer = await client.get("/github/created", params={"code": code, "state": good})
                assert answer.status_code == 403
            with github(httpserver, {"message": "Not Found"}, 404):
                answer = await client.get("/github/created", params={"code": "one-code", "state": good})
            assert (answer.status_code, "expired" in answer.text) == (502, True)
            with github(httpserver, {"id": 1, "slug": "x", "pem": "none", "webhook_secret": "s"}):
                answer = await client.get("/github/created", params={"code": "one-code", "state": good})
            assert answer.status_code == 502

    asyncio.run(go())
    assert list(tmp_path.iterdir()) == []
    assert len(httpserver.log) == 2, "GitHub is asked only for answers that count"


def test_a_state_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(9e9, None, "a cookie")
    state = States("s").make(session)
    assert States("s").fits(session, state)
    monkeypatch.setattr("bot.page.create_app.time.time", lambda: session.expires - 1)
    assert not States("s").fits(session, state)


@pytest.mark.parametrize("installation", [7, "signed out"])
def test_only_a_maintainer_of_all_installations_may_start(
    opened: OpenService, settings: dict[str, Any], installation: int | str
) -> None:
    async def go() -> None:
        async with opened(**settings) as service, on_a_socket(service) as port:
            who = (
                signed_in(port, installation)
                if isinstance(installation, int)
                else httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}")
            )
            async with who as client:
                assert (await client.get("/github/new")).status_code == 401
                assert (await client.get("/github/created?code=one-code&state=x")).status_code == 401

    asyncio.run(go())


@pytest.mark.parametrize("given", [{"github_app_id": 5}, {"github_private_key": SecretStr(KEY)}])
def test_it_is_off_where_an_app_is_configured(
    opened: OpenService, settings: dict[str, Any], given: dict[str, Any]
) -> None:
    async def go() -> None:
        async with (
            opened(**settings, **given) as service,
            on_a_socket(service) as port,
            signed_in(port) as client,
        ):
            assert (await client.get("/github/new")).status_code == 404

    asyncio.run(go())


def test_without_a_public_address_github_would_reach_nobody(
    opened: OpenService, settings: dict[str, Any]
) -> None:
    async def go() -> None:
        del settings["public_url"]
        async with opened(**settings) as service, on_a_socket(service) as port, signed_in(port) as client:
            answer = await client.get("/github/new")
            assert (answer.status_code, "DISTRIAGE_PUBLIC_URL" in answer.text) == (409, True)

    asyncio.run(go())


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    assert keep(tmp_path / "new" / CREATED_APP, CreatedApp(1, "one", KEY, "s"))
    assert not keep(tmp_path / "new" / CREATED_APP, CreatedApp(2, "two", KEY, "s"))
    assert json.loads((tmp_path / "new" / CREATED_APP).read_text())["slug"] == "one"


def test_the_environment_s_app_comes_before_the_created_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(tmp_path / CREATED_APP, CreatedApp(1, "one", KEY, "s"))
    monkeypatch.setenv("DISTRIAGE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("DISTRIAGE_GITHUB_APP_ID", "5")
    assert load_service_settings().github_app_id == 5
    monkeypatch.delenv("DISTRIAGE_GITHUB_APP_ID")
    (tmp_path / CREATED_APP).write_text("{")
    with pytest.raises(SettingsError, match=CREATED_APP):
        load_service_settings()


def test_the_documented_manifest_is_the_one_that_is_sent() -> None:
    assert json.loads((DOCS / "github-app-manifest.json").read_text("utf-8")) == manifest("https://YOUR-HOST")


def test_a_backfill_reads_through_the_created_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(tmp_path / CREATED_APP, CreatedApp(99, "one", KEY, "s"))
    monkeypatch.setenv("DISTRIAGE_DATA_DIR", str(tmp_path))
    read: list[int | None] = []

    def fill(settings: Settings, *_: object, **__: object) -> int:
        read.append(settings.github_app_id)
        return 0

    monkeypatch.setattr("bot.cli.operate.fill_from_github", fill)
    assert CliRunner().invoke(app, ["backfill", "octo/train"]).exit_code == 0
    assert read == [99]
