"""Creating the GitHub App by one click: a form takes the manifest to GitHub, GitHub sends a code back for its key.

https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx2
import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from itsdangerous import BadData, URLSafeSerializer

from bot.page.github_sign_in import BACK
from bot.page.replays import INSTALLED
from bot.page.sign_in import COOKIE, Session, SignIn
from bot.page.view import HEADERS, created_app, new_app, unsigned
from bot.runtime.generated_secret import admin_secret
from bot.settings import CREATED_APP, Settings

log = structlog.get_logger(__name__)

STATE_SECONDS = 3600
"""How long GitHub's answer is waited for; its code is good for an hour, too."""
_TIMEOUT = 15.0
_CODE = re.compile(r"[A-Za-z0-9_-]{1,200}")
_ACCOUNT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})")
_ANSWER_BYTES = 262_144


def manifest(public_url: str) -> dict[str, Any]:
    """What the App is and may do; the same as docs/github-app-manifest.json."""
    root = public_url.rstrip("/")
    return {
        "name": "distriage",
        "url": root,
        "description": "Reads failure reports about distributed deep-learning training and answers with one comment: "
        "what failed, why, what resolved such cases.",
        "public": False,
        "hook_attributes": {"url": f"{root}/webhooks/github", "active": True},
        "redirect_url": f"{root}/github/created",
        "callback_urls": [f"{root}{BACK}"],
        "setup_url": f"{root}{INSTALLED}",
        "setup_on_update": True,
        "default_permissions": {"issues": "write", "metadata": "read", "contents": "read"},
        "default_events": ["issues", "issue_comment"],
    }


@dataclass(frozen=True, slots=True)
class States:
    """Makes and checks the state that ties GitHub's answer to the maintainer who asked, for an hour."""

    secret: str

    def make(self, session: Session) -> str:
        """A state for this session."""
        return self._signer().dumps({"e": int(time.time()) + STATE_SECONDS, "s": _short(session)})

    def fits(self, session: Session, state: str) -> bool:
        """Whether the state was made for this session within the hour."""
        try:
            value: Any = self._signer().loads(state)
            return bool(value["s"] == _short(session) and value["e"] > time.time())
        except (BadData, KeyError, TypeError):
            return False

    def _signer(self) -> URLSafeSerializer:
        return URLSafeSerializer(self.secret, salt="distriage.manifest")


@dataclass(frozen=True, slots=True)
class CreatedApp:
    """What is kept of a new App."""

    id: int
    slug: str
    pem: str
    webhook_secret: str
    client_id: str = ""
    client_secret: str = ""
    """Of the App's user flow, by which maintainers sign in."""


class NotCreated(Exception):
    """GitHub gave no App for the code; the message is for the maintainer."""


def create_app_router(settings: Settings, sign_in: SignIn) -> APIRouter:
    """The two routes; both answer 404 once an App is configured."""
    router = APIRouter()
    states = States(admin_secret(settings))
    file = settings.data_dir / CREATED_APP
    # The form leads to GitHub.
    headers = {
        **HEADERS,
        "content-security-policy": HEADERS["content-security-policy"].replace(
            "form-action 'self'", f"form-action 'self' {settings.github_web_url}"
        ),
    }

    def page(html: str, status: int = 200) -> HTMLResponse:
        return HTMLResponse(html, status_code=status, headers=headers)

    def refused(request: Request) -> Response | Session:
        if len(settings.missing_github_app) < 2 or file.exists():
            return page(unsigned("A GitHub App is already configured."), 404)
        session = sign_in.session(request.cookies.get(COOKIE))
        if session is None or session.installation is not None:
            return page(unsigned("Sign in with a link from `bot admin link`, for all installations."), 401)
        return session

    @router.get("/github/new")
    async def new(request: Request, organization: str = "") -> Response:
        session = refused(request)
        if not isinstance(session, Session):
            return session
        if "public_url" not in settings.model_fields_set:
            return page(
                unsigned("Set DISTRIAGE_PUBLIC_URL to the address at which GitHub reaches this service."), 409
            )
        if organization and not _ACCOUNT.fullmatch(organization):
            return page(unsigned("This is not the name of an organization."), 422)
        owner = f"organizations/{quote(organization)}/" if organization else ""
        query = urlencode({"state": states.make(session)})
        return page(
            new_app(
                action=f"{settings.github_web_url}/{owner}settings/apps/new?{query}",
                manifest=json.dumps(manifest(settings.public_url)),
                organization=organization,
            )
        )

    @router.get("/github/created")
    async def created(request: Request, code: str = "", state: str = "") -> Response:
        session = refused(request)
        if not isinstance(session, Session):
            return session
        if not states.fits(session, state) or not _CODE.fullmatch(code):
            return page(
                unsigned("This answer does not belong to a form of this page, or came too late."), 403
            )
        try:
            found = await asyncio.to_thread(convert, settings.github_api_url, code)
        except NotCreated as error:
            return page(unsigned(f"{error} Start again at /github/new."), 502)
        if not await asyncio.to_thread(keep, file, found):
            return page(unsigned("A GitHub App is already configured."), 404)
        log.info("App created", app=found.id)
        url = f"{settings.github_web_url}/apps/{found.slug}/installations/new"
        return page(created_app(name=found.slug, url=url))

    return router


def convert(api_url: str, code: str) -> CreatedApp:
    """The new App, for GitHub's code. Raises `NotCreated`."""
    url = f"{api_url.rstrip('/')}/app-manifests/{quote(code, safe='')}/conversions"
    headers = {"accept": "application/vnd.github+json", "user-agent": "distriage"}
    try:
        answer = httpx2.post(url, headers=headers, timeout=_TIMEOUT, follow_redirects=False)
    except httpx2.HTTPError as error:
        raise NotCreated(f"Can't reach GitHub ({type(error).__name__}).") from error
    if answer.status_code != 201 or len(answer.content) > _ANSWER_BYTES:
        raise NotCreated(f"GitHub answered {answer.status_code}: the code is unknown or has expired.")
    try:
        data = answer.json()
        found = CreatedApp(
            int(data["id"]),
            str(data["slug"]),
            str(data["pem"]),
            str(data["webhook_secret"]),
            str(data.get("client_id") or ""),
            str(data.get("client_secret") or ""),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise NotCreated("Can't read GitHub's answer.") from error
    if "PRIVATE KEY" not in found.pem or not found.webhook_secret or not re.fullmatch(r"[\w-]+", found.slug):
        raise NotCreated("Can't read GitHub's answer.")
    return found


def keep(file: Path, app: CreatedApp) -> bool:
    """Write the App's credentials, readable by their owner only; False when there are some already."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}.{time.monotonic_ns()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as out:
            json.dump(asdict(app), out)
        # Unlike a rename, a link fails where the file exists: whole or not at all, and never over another App's key.
        os.link(draft, file)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def _short(session: Session) -> str:
    return hashlib.sha256(session.nonce.encode()).hexdigest()[:32]
