"""A Slack that speaks what the app uses, over a real socket, and refuses what Slack would refuse.

`FakeSlack` is the state, which tests read and change; `serve` runs it under uvicorn in a thread. Shapes and error
words are those that Slack documents: https://docs.slack.dev/reference/methods
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any

import uvicorn
import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tests.bot.slack.limits import broken_message, broken_view

TOKEN = "xoxb-fake-1"
ROOM = "C0ROOM"
MANIFEST = yaml.safe_load((Path(__file__).parents[3] / "docs/slack-app-manifest.yaml").read_text("utf-8"))
SCOPE_OF: dict[str, str | None] = {
    "auth.test": None,
    "chat.postEphemeral": "chat:write",
    "chat.postMessage": "chat:write",
    "chat.update": "chat:write",
    "conversations.open": "im:write",
    "files.completeUploadExternal": "files:write",
    "files.getUploadURLExternal": "files:write",
    "files.info": "files:read",
    "oauth.v2.access": None,
    "views.open": None,
}
"""The methods there are here, and the scope that each needs."""


@dataclass
class Reply:
    """A response URL: five uses, and it can expire."""

    user: str
    channel: str
    uses: int = 0
    expired: bool = False


@dataclass
class FakeSlack:
    """One workspace, T1, where the app is a member of ROOM."""

    scopes: set[str] = field(default_factory=lambda: set(MANIFEST["oauth_config"]["scopes"]["bot"]))
    """Those of our manifest: a call that needs another one fails."""
    member_of: set[str] = field(default_factory=lambda: {ROOM})
    replies: dict[str, Reply] = field(default_factory=dict)
    private: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """What one person sees: (user, message)."""
    public: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """(channel, ts) to message."""
    views: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, dict[str, Any]] = field(default_factory=dict)
    triggers: set[str] = field(default_factory=set)
    """Those used up."""
    delays: dict[str, float] = field(default_factory=dict)
    """Path to the seconds between a call's effect and its answer."""
    moment: Callable[[], float] = time.time
    """The clock that tokens expire by."""
    ends: dict[str, float] = field(default_factory=dict)
    """When a token expires that does."""
    refreshes: dict[str, str] = field(default_factory=dict)
    """Refresh tokens that have not been used, and the access token each belongs to."""
    snippets: list[tuple[str, bytes]] = field(default_factory=list)
    """(channel, content) of completed uploads."""
    uploaded: list[dict[str, Any]] = field(default_factory=list)
    """What was said of them: name, kind, comment."""
    codes: dict[str, dict[str, Any]] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=lambda: {TOKEN})
    calls: list[str] = field(default_factory=list)
    faults: dict[str, list[Callable[[], Response] | str]] = field(default_factory=dict)
    """Path to what goes wrong with its next calls; "after" does the work and answers 500."""
    refusals: list[str] = field(default_factory=list)
    """Messages that Slack would not take; a test that leaves any has found a fault."""
    url: str = ""

    def reply_url(self, user: str = "U1", channel: str = ROOM) -> str:
        name = f"r{len(self.replies)}"
        self.replies[name] = Reply(user, channel)
        return f"{self.url}/respond/{name}"

    def add_file(self, file_id: str, content: bytes, **facts: Any) -> None:
        self.contents[file_id] = content
        base = {"id": file_id, "user": "U1", "is_public": False, "channels": [], "groups": [], "ims": []}
        self.files[file_id] = {**base, "url_private_download": f"{self.url}/content/{file_id}", **facts}

    def works(self, token: str) -> bool:
        return token in self.tokens and self.ends.get(token, float("inf")) > self.moment()

    def grant(self, kind: str) -> dict[str, Any]:
        """A token that expires in twelve hours, and the refresh token that goes with it."""
        number = len(self.ends)
        token, refresh = f"xoxe.xoxb-{kind}-{number}", f"xoxe-{kind}-{number}"
        self.tokens.add(token)
        self.ends[token], self.refreshes[refresh] = self.moment() + 43_200, token
        return {"access_token": token, "token_type": "bot", "refresh_token": refresh, "expires_in": 43_200}

    def to(self, user: str) -> list[dict[str, Any]]:
        return [message for one, message in self.private if one == user]


class _Api:
    def __init__(self, state: FakeSlack) -> None:
        self.state = state

    def routes(self) -> list[Route]:
        return [
            Route("/api/{method}", self.api, methods=["POST", "GET"]),
            Route("/respond/{name}", self.respond, methods=["POST"]),
            Route("/content/{file}", self.content),
            Route("/upload/{file}", self.upload, methods=["POST"]),
        ]

    async def respond(self, request: Request) -> Response:
        name = request.path_params["name"]
        self.state.calls.append("respond")
        fault = self._fault("respond")
        if callable(fault):
            return fault()
        reply = self.state.replies.get(name)
        if reply is None or reply.expired:
            return PlainTextResponse("expired_url", 404)
        reply.uses += 1
        if reply.uses > 5:
            return PlainTextResponse("used_url", 404)
        message = await request.json()
        self._check(message)
        if message.get("response_type") == "in_channel":
            self.state.public[(reply.channel, f"{len(self.state.public)}.by_url")] = message
        else:
            self.state.private.append((reply.user, message))
        await asyncio.sleep(self.state.delays.get("respond", 0))
        return PlainTextResponse("ok", 500 if fault == "after" else 200)

    async def content(self, request: Request) -> Response:
        if not self.state.works(_bearer(request)) or "files:read" not in self.state.scopes:
            return Response(status_code=302, headers={"location": "https://slack.com/signin"})
        return Response(self.state.contents[request.path_params["file"]])

    async def upload(self, request: Request) -> Response:
        upload = self.state.uploads[request.path_params["file"]]
        upload["content"] = await request.body()
        if len(upload["content"]) != int(upload["length"]):
            return PlainTextResponse("length", 400)
        return PlainTextResponse("OK")

    async def api(self, request: Request) -> Response:
        method = request.path_params["method"]
        self.state.calls.append(method)
        fault = self._fault(method)
        if callable(fault):
            return fault()
        token, scope = _bearer(request), SCOPE_OF[method]
        if method != "oauth.v2.access" and not self.state.works(token):
            error = "token_expired" if token in self.state.tokens else "invalid_auth"
            return JSONResponse({"ok": False, "error": error})
        if scope is not None and scope not in self.state.scopes:
            return JSONResponse({"ok": False, "error": "missing_scope", "needed": scope})
        given = await _values(request)
        if method == "auth.test":
            return self.auth_test(token)
        answer = getattr(self, method.replace(".", "_"))(given)
        return JSONResponse(
            answer if "error" in answer else {"ok": True, **answer}, 500 if fault == "after" else 200
        )

    def auth_test(self, token: str) -> Response:
        facts = {"ok": True, "team": "Acme", "team_id": "T1", "user_id": "U0BOT", "bot_id": "B0BOT"}
        if token in self.state.ends:
            facts["expires_in"] = int(self.state.ends[token] - self.state.moment())
        if token.startswith("xoxp-"):
            del facts["bot_id"]
        headers = {
            "x-oauth-scopes": ",".join(sorted(self.state.scopes)),
            "date": formatdate(self.state.moment()),
        }
        return JSONResponse(facts, headers=headers)

    def chat_postMessage(self, given: dict[str, Any]) -> dict[str, Any]:
        channel = given["channel"]
        if not channel.startswith("U") and channel not in self.state.member_of:
            return {"ok": False, "error": "not_in_channel"}
        if not self._check(given):
            return {"ok": False, "error": "invalid_blocks"}
        if channel.startswith("U"):
            self.state.private.append((channel, given))
            return {"ts": "1.1", "channel": f"D{channel}"}
        ts = f"{1_700_000_000 + len(self.state.public)}.000100"
        self.state.public[(channel, ts)] = given
        return {"ts": ts, "channel": channel}

    def chat_postEphemeral(self, given: dict[str, Any]) -> dict[str, Any]:
        self.state.private.append((given["user"], given))
        return {"message_ts": "1.2"}

    def chat_update(self, given: dict[str, Any]) -> dict[str, Any]:
        key = (given["channel"], given["ts"])
        if key not in self.state.public:
            return {"ok": False, "error": "message_not_found"}
        if not self._check(given):
            return {"ok": False, "error": "invalid_blocks"}
        self.state.public[key] = given
        return {"ts": given["ts"]}

    def views_open(self, given: dict[str, Any]) -> dict[str, Any]:
        view = given["view"]
        if broken := broken_view(view):
            self.state.refusals += broken
            return {"ok": False, "error": "invalid_arguments"}
        if "file_input" in json.dumps(view) and "files:read" not in self.state.scopes:
            return {"ok": False, "error": "invalid_arguments"}
        if given["trigger_id"].startswith("expired"):
            return {"ok": False, "error": "expired_trigger_id"}
        if given["trigger_id"] in self.state.triggers:
            return {"ok": False, "error": "exchanged_trigger_id"}
        self.state.triggers.add(given["trigger_id"])
        self.state.views.append(view)
        return {"view": view}

    def files_info(self, given: dict[str, Any]) -> dict[str, Any]:
        file = self.state.files.get(given["file"])
        return {"file": file} if file else {"ok": False, "error": "file_not_found"}

    def conversations_open(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"channel": {"id": f"D{given['users']}"}}

    def files_getUploadURLExternal(self, given: dict[str, Any]) -> dict[str, Any]:
        name = f"F{len(self.state.uploads)}"
        self.state.uploads[name] = given
        return {"upload_url": f"{self.state.url}/upload/{name}", "file_id": name}

    def files_completeUploadExternal(self, given: dict[str, Any]) -> dict[str, Any]:
        files = given["files"] if isinstance(given["files"], list) else json.loads(given["files"])
        for file in files:
            upload = self.state.uploads[file["id"]]
            self.state.snippets.append((given["channel_id"], upload["content"]))
            self.state.uploaded.append({**given, **upload, **file})
        return {"files": files}

    def oauth_v2_access(self, given: dict[str, Any]) -> dict[str, Any]:
        if given.get("grant_type") == "refresh_token":
            if self.state.refreshes.pop(given["refresh_token"], None) is None:
                return {"ok": False, "error": "invalid_refresh_token"}
            return self.state.grant("renewed")
        answer = self.state.codes.pop(given.get("code", ""), None)
        if answer is None:
            return {"ok": False, "error": "invalid_code"}
        self.state.tokens.add(answer["access_token"])
        return answer

    def _check(self, message: dict[str, Any]) -> bool:
        broken = broken_message(message)
        self.state.refusals += broken
        return not broken

    def _fault(self, path: str) -> Callable[[], Response] | str | None:
        waiting = self.state.faults.get(path)
        return waiting.pop(0) if waiting else None


def _bearer(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


async def _values(request: Request) -> dict[str, Any]:
    kind = request.headers.get("content-type", "")
    values: dict[str, Any] = dict(request.query_params)
    if kind.startswith("application/json"):
        values |= json.loads(await request.body() or b"{}")
    elif request.method == "POST":
        async with request.form() as form:
            values |= dict(form)
    return values


@contextmanager
def serve(state: FakeSlack) -> Iterator[str]:
    """Run the fake on a free port; the value is its root address."""
    app = Starlette(routes=_Api(state).routes())
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", lifespan="off", date_header=False)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    state.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield state.url
    finally:
        server.should_exit = True
        thread.join(timeout=10)
