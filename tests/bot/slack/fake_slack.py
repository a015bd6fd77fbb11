"""A Slack that speaks what the app uses, over a real socket, and refuses what Slack would refuse.

`FakeSlack` is the state, which tests read and change; `serve` runs it under uvicorn in a thread. Shapes and error
words are those that Slack documents: https://docs.slack.dev/reference/methods
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tests.bot.slack.limits import broken_message, broken_view

TOKEN = "xoxb-fake-1"
ALL_SCOPES = {"commands", "chat:write", "files:read", "files:write", "im:write", "channels:history"}
ROOM = "C0ROOM"


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

    scopes: set[str] = field(default_factory=lambda: set(ALL_SCOPES))
    member_of: set[str] = field(default_factory=lambda: {ROOM})
    replies: dict[str, Reply] = field(default_factory=dict)
    private: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """What one person sees: (user, message)."""
    public: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """(channel, ts) to message."""
    views: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, bytes] = field(default_factory=dict)
    snippets: list[tuple[str, bytes]] = field(default_factory=list)
    """(channel, content) of completed uploads."""
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
        return PlainTextResponse("ok", 500 if fault == "after" else 200)

    async def content(self, request: Request) -> Response:
        if request.headers.get("authorization", "").removeprefix("Bearer ") not in self.state.tokens:
            return Response(status_code=302, headers={"location": "https://slack.com/signin"})
        return Response(self.state.contents[request.path_params["file"]])

    async def upload(self, request: Request) -> Response:
        self.state.uploads[request.path_params["file"]] = await request.body()
        return PlainTextResponse("OK")

    async def api(self, request: Request) -> Response:
        method = request.path_params["method"]
        self.state.calls.append(method)
        fault = self._fault(method)
        if callable(fault):
            return fault()
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if method != "oauth.v2.access" and token not in self.state.tokens:
            return JSONResponse({"ok": False, "error": "invalid_auth"})
        given = await _values(request)
        answer = getattr(self, method.replace(".", "_"))(given)
        return JSONResponse(
            answer if "error" in answer else {"ok": True, **answer}, 500 if fault == "after" else 200
        )

    def chat_postMessage(self, given: dict[str, Any]) -> dict[str, Any]:
        if "chat:write" not in self.state.scopes:
            return {"ok": False, "error": "missing_scope"}
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
        self.state.views.append(view)
        return {"view": view}

    def files_info(self, given: dict[str, Any]) -> dict[str, Any]:
        if "files:read" not in self.state.scopes:
            return {"ok": False, "error": "missing_scope"}
        file = self.state.files.get(given["file"])
        return {"file": file} if file else {"ok": False, "error": "file_not_found"}

    def conversations_open(self, given: dict[str, Any]) -> dict[str, Any]:
        if "im:write" not in self.state.scopes:
            return {"ok": False, "error": "missing_scope"}
        return {"channel": {"id": f"D{given['users']}"}}

    def files_getUploadURLExternal(self, given: dict[str, Any]) -> dict[str, Any]:
        if "files:write" not in self.state.scopes:
            return {"ok": False, "error": "missing_scope"}
        name = f"F{len(self.state.uploads)}"
        return {"upload_url": f"{self.state.url}/upload/{name}", "file_id": name}

    def files_completeUploadExternal(self, given: dict[str, Any]) -> dict[str, Any]:
        files = given["files"] if isinstance(given["files"], list) else json.loads(given["files"])
        self.state.snippets += [(given["channel_id"], self.state.uploads[file["id"]]) for file in files]
        return {"files": files}

    def oauth_v2_access(self, given: dict[str, Any]) -> dict[str, Any]:
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
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", lifespan="off")
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
