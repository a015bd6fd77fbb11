"""Signing in with GitHub: the App's user flow (OAuth) with state and PKCE, and sessions that end after an hour.

Whoever may write to a repository with the App installed sees that repository. The rights are read once, at the
sign-in, which is why a session is short; GitHub's token is used for that and forgotten.
https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode

import httpx2
import structlog
from fastapi import APIRouter, Request
from fastapi.responses import Response
from itsdangerous import BadData, URLSafeSerializer

from bot.db.connect import Table, clean_text
from bot.page.sign_in import COOKIE, Session, SignIn
from bot.page.view import go_to, page, unsigned
from bot.runtime.generated_secret import admin_secret
from bot.runtime.resources import Service
from bot.settings import Settings

log = structlog.get_logger(__name__)

GITHUB_COOKIE = "distriage_github"
FLOW_COOKIE = "distriage_flow"
START, BACK = "/sign-in/github", "/sign-in/github/callback"
TARGETS = {"": "/", "replays": "/replays"}
"""Where a sign-in leads, by the word for it in the address: nothing else that an address says does."""
SESSION_SECONDS = 3600
FLOW_SECONDS = 600
_TIMEOUT = 10.0
_PER_PAGE = 100
_MOST_PAGES = 30
"""Of one list: 3,000 repositories of an installation."""
_CODE = re.compile(r"[A-Za-z0-9_-]{1,200}")


class NotSignedIn(Exception):
    """The sign-in failed; the message is for the person, `status` for the answer."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Person:
    """Who signed in, and the ids of the repositories that the person may write to."""

    login: str
    repos: tuple[int, ...]


class Sessions(Table):
    """The sessions of people who signed in with GitHub. The database holds a hash of each cookie."""

    def open(self, person: Person) -> str:
        """A new session; the value of its cookie. Sessions that have ended are deleted."""
        cookie = secrets.token_urlsafe(32)
        self._run("DELETE FROM page_sessions WHERE expires < now()", ())
        self._run(
            "INSERT INTO page_sessions (id, login, repos, expires)"
            " VALUES (%s, %s, %s, now() + make_interval(secs => %s))",
            (_hash(cookie), clean_text(person.login), list(person.repos), SESSION_SECONDS),
        )
        return cookie

    def session(self, cookie: str | None) -> Session | None:
        """The session of a cookie; None when there is none, or it has ended."""
        if not cookie:
            return None
        row = self._row(
            "SELECT login, repos, extract(epoch FROM expires)::float AS expires FROM page_sessions"
            " WHERE id = %s AND expires > now()",
            (_hash(cookie),),
        )
        return Session(row["expires"], None, cookie, row["login"], tuple(row["repos"])) if row else None

    def close(self, cookie: str) -> None:
        """End a session."""
        self._run("DELETE FROM page_sessions WHERE id = %s", (_hash(cookie),))


@dataclass(frozen=True, slots=True)
class GitHubUsers:
    """The App's side of the flow."""

    client_id: str
    client_secret: str
    web_url: str
    api_url: str
    back_url: str
    secret: str
    """Signs the cookie that ties GitHub's answer to the browser that asked."""

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """By the settings; None where the App's client is not configured."""
        if settings.github_client_id is None or settings.github_client_secret is None:
            return None
        return cls(
            settings.github_client_id,
            settings.github_client_secret.get_secret_value(),
            settings.github_web_url,
            settings.github_api_url.rstrip("/"),
            settings.public_url.rstrip("/") + BACK,
            admin_secret(settings),
        )

    def start(self, to: str = "") -> tuple[str, str]:
        """The address at GitHub to go to, and the flow cookie; `to` is one of `TARGETS`."""
        state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(64)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "client_id": self.client_id,
            "redirect_uri": self.back_url,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        value = {"s": state, "v": verifier, "e": int(time.time()) + FLOW_SECONDS, "t": to}
        cookie = self._signer().dumps(value)
        return f"{self.web_url}/login/oauth/authorize?{urlencode(query)}", cookie

    def finish(self, cookie: str, state: str, code: str) -> tuple[Person, str]:
        """Who came back with a code, and where the page goes on. Raises `NotSignedIn`."""
        verifier, to = self._begun(cookie, state)
        if not verifier or not _CODE.fullmatch(code):
            raise NotSignedIn("This sign-in was started in a different browser, or it has expired.", 403)
        try:
            with httpx2.Client(timeout=_TIMEOUT, follow_redirects=False) as client:
                return _person(client, self.api_url, self._token(client, code, verifier)), TARGETS.get(
                    to, "/"
                )
        except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
            log.warning("sign-in failed", error=type(error).__name__)
            raise NotSignedIn("Can't reach GitHub, or can't read its answer.", 502) from error

    def _begun(self, cookie: str, state: str) -> tuple[str, str]:
        """The verifier and the target of the flow that the cookie began; "" where it doesn't fit the answer."""
        try:
            value: Any = self._signer().loads(cookie)
            fits = hmac.compare_digest(str(value["s"]).encode(), state.encode()) and value["e"] > time.time()
            return (str(value["v"]), str(value["t"])) if fits else ("", "")
        except (BadData, KeyError, TypeError):
            return "", ""

    def _token(self, client: httpx2.Client, code: str, verifier: str) -> str:
        sent = {
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "code": code,
            "redirect_uri": self.back_url,
            "code_verifier": verifier,
        }
        url = f"{self.web_url}/login/oauth/access_token"
        answer = client.post(url, data=sent, headers={"accept": "application/json"}).json()
        if "access_token" not in answer:
            raise NotSignedIn("GitHub rejected this sign-in. Try again.", 403)
        return str(answer["access_token"])

    def _signer(self) -> URLSafeSerializer:
        return URLSafeSerializer(self.secret, salt="distriage.github-flow")


def _person(client: httpx2.Client, api_url: str, token: str) -> Person:
    """Who the token belongs to, with the repositories of the App's installations that this person may write to."""
    client.headers.update(
        {
            "authorization": f"Bearer {token}",
            "accept": "application/vnd.github+json",
            "user-agent": "distriage",
        }
    )
    login = str(_get(client, f"{api_url}/user")["login"])
    repos: list[int] = []
    for installation in _pages(client, f"{api_url}/user/installations", "installations"):
        address = f"{api_url}/user/installations/{int(installation['id'])}/repositories"
        found = _pages(client, address, "repositories")
        repos += [int(repo["id"]) for repo in found if (repo.get("permissions") or {}).get("push") is True]
    if not repos:
        raise NotSignedIn("You have no write access to a repository where distriage is installed.", 403)
    return Person(login, tuple(sorted(set(repos))))


def _pages(client: httpx2.Client, url: str, name: str) -> Iterator[dict[str, Any]]:
    for number in range(1, _MOST_PAGES + 1):
        items = _get(client, f"{url}?per_page={_PER_PAGE}&page={number}")[name]
        yield from items
        if len(items) < _PER_PAGE:
            return


def _get(client: httpx2.Client, url: str) -> dict[str, Any]:
    answer = client.get(url)
    answer.raise_for_status()
    return dict(answer.json())


@dataclass(frozen=True, slots=True)
class Visitors:
    """Who calls: by link or with GitHub."""

    links: SignIn
    sessions: Sessions

    async def session(self, request: Request) -> Session | None:
        """The session of a request; None when nobody is signed in."""
        session = self.links.session(request.cookies.get(COOKIE))
        if session is not None:
            return session
        return await asyncio.to_thread(self.sessions.session, request.cookies.get(GITHUB_COOKIE))

    async def sign_out(self, request: Request, answer: Response) -> None:
        """End the session; the cookies go."""
        cookie = request.cookies.get(GITHUB_COOKIE)
        if cookie:
            await asyncio.to_thread(self.sessions.close, cookie)
        for name in (COOKIE, GITHUB_COOKIE):
            answer.delete_cookie(name)


def github_sign_in_router(service: Service, users: GitHubUsers) -> APIRouter:
    """The routes of the flow."""
    router = APIRouter()
    sessions = Sessions(service.threads)
    secure = service.settings.public_url.startswith("https:")

    @router.get(START)
    async def start(to: str = "") -> Response:
        address, cookie = users.start(to if to in TARGETS else "")
        answer = go_to(address)
        _set(answer, FLOW_COOKIE, cookie, FLOW_SECONDS, path=START, secure=secure)
        return answer

    @router.get(BACK)
    async def back(request: Request, code: str = "", state: str = "") -> Response:
        try:
            person, to = await asyncio.to_thread(
                users.finish, request.cookies.get(FLOW_COOKIE, ""), state, code
            )
        except NotSignedIn as error:
            return page(unsigned(str(error), sign_in=START), error.status)
        cookie = await asyncio.to_thread(sessions.open, person)
        log.info("signed in", repositories=len(person.repos))
        answer = go_to(to)
        answer.delete_cookie(FLOW_COOKIE, path=START)
        # The newer sign-in counts.
        answer.delete_cookie(COOKIE)
        _set(answer, GITHUB_COOKIE, cookie, SESSION_SECONDS, path="/", secure=secure)
        return answer

    return router


def _set(answer: Response, name: str, value: str, seconds: int, *, path: str, secure: bool) -> None:
    # Lax: the browser comes back from GitHub, and has to bring the cookie of the flow.
    answer.set_cookie(name, value, max_age=seconds, path=path, httponly=True, samesite="lax", secure=secure)


def _hash(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()
