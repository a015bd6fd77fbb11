"""Installing by OAuth: /slack/install sends people to Slack, /slack/oauth_redirect brings them back.

https://docs.slack.dev/authentication/installing-with-oauth
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from typing import Any
from urllib.parse import urlencode

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from itsdangerous import BadData, URLSafeTimedSerializer

from bot.jobs.runner import TryLater
from bot.slack.ports import SlackPorts
from bot.slack.records import Installation, SlackError
from bot.slack.tokens import OAuthClient, expiry

log = structlog.get_logger(__name__)

SCOPES = (
    "commands",
    "chat:write",
    "files:read",
    "files:write",
    "im:write",
    "channels:history",
    "groups:history",
)
COOKIE = "distriage_slack_state"
STATE_SECONDS = 600


def install_router(client: OAuthClient, ports: SlackPorts) -> APIRouter:
    """The two routes of an installation.

    The state is signed, ten minutes old at most, and bound to the browser that set out: a link with somebody
    else's code installs nothing.
    """
    router = APIRouter()
    signer = URLSafeTimedSerializer(ports.vault.signing_key, salt="distriage.slack.install")

    @router.get("/slack/install", response_model=None)
    async def install() -> Response:
        nonce = secrets.token_urlsafe(24)
        query = {
            "client_id": client.id,
            "scope": ",".join(SCOPES),
            "redirect_uri": client.redirect_uri,
            "state": signer.dumps(nonce),
        }
        response = RedirectResponse(f"{client.authorize_url}?{urlencode(query)}", status_code=302)
        response.set_cookie(
            COOKIE,
            nonce,
            max_age=STATE_SECONDS,
            path="/slack",
            secure=client.public_url.startswith("https://"),
            httponly=True,
            samesite="lax",
        )
        return response

    @router.get("/slack/oauth_redirect", response_model=None)
    async def back(request: Request) -> Response:
        state, code = request.query_params.get("state", ""), request.query_params.get("code", "")
        if not _fits(signer, state, request.cookies.get(COOKIE, "")):
            return _page(
                "This installation link has expired or was opened in another browser. Please start again.",
                400,
            )
        if not code:
            return _page("The installation was canceled.", 400)
        try:
            name = await asyncio.to_thread(_install, client, ports, code)
        except (SlackError, TryLater) as error:
            log.warning("installation failed", error=str(error))
            return _page("Slack did not accept the installation. Please start again.", 502)
        if name is None:
            return _page("Slack sent no bot token. Check the app's scopes, then start again.", 502)
        return _page(f"Installed in {name}. Type /triage in Slack.", 200)

    return router


def _fits(signer: URLSafeTimedSerializer, state: str, cookie: str) -> bool:
    try:
        nonce: Any = signer.loads(state, max_age=STATE_SECONDS)
    except BadData:
        return False
    return isinstance(nonce, str) and hmac.compare_digest(nonce.encode(), cookie.encode())


def _install(client: OAuthClient, ports: SlackPorts, code: str) -> str | None:
    """Exchange the code and keep the token, encrypted; the workspace's name, None when there is no bot token."""
    # The moment before the exchange: an uninstall that Slack reports for earlier must not delete this token.
    now = ports.clock.now()
    answer = ports.api.exchange(client.id, client.secret, code=code, redirect_uri=client.redirect_uri)
    team, enterprise = answer.get("team") or {}, answer.get("enterprise") or {}
    place = enterprise if answer.get("is_enterprise_install") else team
    token = answer.get("access_token")
    if not isinstance(token, str) or answer.get("token_type") != "bot" or not place.get("id"):
        return None
    refresh, expires_at = expiry(answer, ports.vault, now)
    installation = Installation(
        workspace=str(place["id"]),
        name=str(place.get("name") or "")[:200],
        bot_user=str(answer.get("bot_user_id") or ""),
        scopes=str(answer.get("scope") or ""),
        sealed_token=ports.vault.seal(token),
        installed_at=now,
        sealed_refresh=refresh,
        expires_at=expires_at,
    )
    ports.store.install(installation)
    log.info("installed", workspace=installation.workspace)
    return installation.name


def _page(text: str, status: int) -> Response:
    response = PlainTextResponse(text, status_code=status)
    response.headers["x-content-type-options"] = "nosniff"
    response.headers["referrer-policy"] = "no-referrer"
    response.delete_cookie(COOKIE, path="/slack")
    return response
