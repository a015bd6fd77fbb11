"""A GitHub that speaks the REST calls the bot uses, over a real socket, with faults on demand.

`FakeGitHub` is the state, which tests read and change; `serve` runs it under uvicorn in a thread. Answers and
errors have the shapes and messages that GitHub documents: https://docs.github.com/rest
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from urllib.parse import parse_qs, urlencode

import jwt
import uvicorn
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

APP_ID = 4711
SLUG = "distriage"
BOT = f"{SLUG}[bot]"
CLIENT = ("Iv1.x", "y")
"""The App's client id and secret."""

FaultKind = Literal[
    "403",
    "422",
    "500",
    "502",
    "502_after",
    "secondary",
    "retry_after",
    "primary",
    "drop_before",
    "drop_after",
    "slow",
]


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request; 502_after and drop_after do the work and lose the answer."""

    kind: FaultKind
    seconds: float = 1.0


FaultPlan = Callable[[str, str], Fault | None]
"""From method and path to the fault of this request."""


def random_faults(share: float, seed: int, kinds: tuple[FaultKind, ...]) -> FaultPlan:
    """A plan that hits `share` of all requests, tokens aside."""
    dice = random.Random(seed)

    def plan(method: str, path: str) -> Fault | None:
        if "access_tokens" in path or dice.random() >= share:
            return None
        return Fault(dice.choice(kinds), seconds=0.05)

    return plan


def once(method: str, part: str, fault: Fault) -> FaultPlan:
    """A plan that hits the first request of that method whose path holds `part`."""
    left = [fault]

    def plan(verb: str, path: str) -> Fault | None:
        return left.pop() if left and verb == method and part in path else None

    return plan


@dataclass
class FakeComment:
    id: int
    user: dict[str, Any]
    body: str
    association: str = "NONE"
    edits: int = 0
    reactions: list[tuple[str, str]] = field(default_factory=list)
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass
class FakeIssue:
    number: int
    title: str
    body: str
    author: dict[str, Any]
    labels: list[str] = field(default_factory=list)
    state: str = "open"
    locked: bool = False
    deleted: bool = False
    is_pull: bool = False
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    comments: list[FakeComment] = field(default_factory=list)
    events: list[tuple[str, str, str]] = field(default_factory=list)
    """(labeled or unlabeled, label, actor), oldest first."""
    closed_at: datetime | None = None
    state_reason: str | None = None
    timeline: list[dict[str, Any]] = field(default_factory=list)
    """Closings and references of pull requests, in GitHub's shape."""
    moved_to: str = ""
    """The path that GitHub redirects to once the issue was transferred."""


@dataclass
class FakeRepo:
    id: int
    full_name: str
    issues: dict[int, FakeIssue] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    """By path; of the default branch."""
    permissions: dict[str, str] = field(default_factory=dict)
    archived: bool = False
    installation: int | None = None
    """The only installation that covers it; None: all of them."""


def user(login: str) -> dict[str, Any]:
    """A user as GitHub shows one."""
    kind = "Bot" if login.endswith("[bot]") else "User"
    return {"login": login, "id": len(login), "type": kind}


class FakeGitHub:
    """Everything there is; all access is from the server's one thread or from the test between requests."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.reset()

    def reset(self) -> None:
        """Forget everything but the key."""
        self.repos: dict[str, FakeRepo] = {}
        self.installations: dict[int, dict[str, Any]] = {1: {"id": 1, "account": user("acme")}}
        self.tokens: dict[str, int] = {}
        self.manifest: dict[str, Any] = {}
        """Of the App that somebody created by the manifest flow."""
        self.browser = ""
        """Who sits in front of GitHub's pages, signed in there, and lets the App know it."""
        self.codes: dict[str, tuple[str, dict[str, str]]] = {}
        """Of the user flow: code to login and what was asked with; each is good once."""
        self.user_tokens: dict[str, str] = {}
        self.logins: dict[str, str] = {}
        """Who writes with a token that is not the App's."""
        self.revoked: set[str] = set()
        self.renamed: dict[str, str] = {}
        """Old names of repositories, and where GitHub says that they are now."""
        self.unchanged = 0
        """Answers of 304 to a list of issues."""
        self.headers: list[dict[str, str]] = []
        """Of every request, in its order."""
        self.permissions = {"issues": "write", "metadata": "read", "contents": "read"}
        self.deliveries: list[dict[str, Any]] = []
        self.gists: dict[str, dict[str, dict[str, Any]]] = {}
        """By id, then by file name: files in GitHub's shape."""
        self.faults: FaultPlan | None = None
        self.latency = 0.0
        self.graphql: Callable[[str, dict[str, Any]], dict[str, Any]] | None = None
        """Answers a GraphQL query with its variables."""
        self.queries: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str]] = []
        self.on_request: Callable[[str, str], None] | None = None
        """Called before each request is served: a test can change the world between two calls of the bot."""
        self._next = 1000

    @property
    def private_key(self) -> str:
        pem = self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        return pem.decode()

    def repo(self, full_name: str) -> FakeRepo:
        if full_name not in self.repos:
            self.repos[full_name] = FakeRepo(id=100 + len(self.repos), full_name=full_name)
        return self.repos[full_name]

    def open_issue(self, full_name: str, title: str, body: str, author: str = "reporter") -> FakeIssue:
        repo = self.repo(full_name)
        issue = FakeIssue(len(repo.issues) + 1, title, body, user(author))
        repo.issues[issue.number] = issue
        return issue

    def add_comment(self, issue: FakeIssue, login: str, body: str, association: str = "NONE") -> FakeComment:
        self._next += 1
        comment = FakeComment(self._next, user(login), body, association)
        issue.comments.append(comment)
        return comment

    def close(self, issue: FakeIssue, by: str, reason: str = "completed", commit: str | None = None) -> None:
        """Close the issue; a `commit` is one whose message closes it."""
        issue.state, issue.state_reason, issue.closed_at = "closed", reason, datetime.now(UTC)
        issue.timeline.append({"event": "closed", "actor": user(by), "commit_id": commit})

    def reopen(self, issue: FakeIssue) -> None:
        issue.state, issue.state_reason, issue.closed_at = "open", "reopened", None

    def merge(self, issue: FakeIssue, full_name: str, number: int) -> None:
        """Merge a pull request that names the issue."""
        source = {
            "number": number,
            "repository": {"full_name": full_name},
            "pull_request": {"merged_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")},
        }
        issue.timeline.append({"event": "cross-referenced", "source": {"type": "issue", "issue": source}})

    def find_comment(self, repo: FakeRepo, comment_id: int) -> FakeComment | None:
        found = (c for issue in repo.issues.values() for c in issue.comments if c.id == comment_id)
        return next(found, None)

    def writes(self) -> list[tuple[str, str]]:
        """Every request that could have changed something, tokens and queries aside."""
        reads = ("access_tokens", "/graphql")
        return [r for r in self.requests if r[0] != "GET" and not r[1].endswith(reads)]

    def payload(self, full_name: str, issue: FakeIssue, action: str, **more: Any) -> dict[str, Any]:
        """The webhook payload of an event on an issue."""
        repo = self.repo(full_name)
        return {
            "action": action,
            "installation": {"id": 1},
            "repository": {"id": repo.id, "full_name": full_name, "archived": repo.archived},
            "sender": issue.author,
            "issue": _issue_json(issue),
            **more,
        }


def _issue_json(issue: FakeIssue) -> dict[str, Any]:
    data: dict[str, Any] = {
        "number": issue.number,
        "title": issue.title,
        "body": issue.body,
        "user": issue.author,
        "labels": [{"name": name} for name in issue.labels],
        "state": issue.state,
        "locked": issue.locked,
        "created_at": issue.created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "closed_at": issue.closed_at.strftime("%Y-%m-%dT%H:%M:%SZ") if issue.closed_at else None,
        "state_reason": issue.state_reason,
        "comments": len(issue.comments),
    }
    if issue.is_pull:
        data["pull_request"] = {"url": "x"}
    return data


def _comment_json(comment: FakeComment) -> dict[str, Any]:
    return {
        "id": comment.id,
        "user": comment.user,
        "body": comment.body,
        "author_association": comment.association,
        "created_at": comment.created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"message": message}, status, headers)


def _page(request: Request, items: list[Any], name: str = "") -> JSONResponse:
    size = int(request.query_params.get("per_page", "30"))
    page = int(request.query_params.get("page", "1"))
    headers = {}
    if len(items) > page * size:
        headers["link"] = f'<{request.url.include_query_params(page=page + 1)}>; rel="next"'
    shown = items[(page - 1) * size : page * size]
    return JSONResponse({"total_count": len(items), name: shown} if name else shown, headers=headers)


class _Api:
    """The routes."""

    def __init__(self, state: FakeGitHub) -> None:
        self.state = state

    def routes(self) -> list[Route]:
        repo = "/repos/{owner}/{name}"
        table: list[tuple[str, str, Callable[..., Response]]] = [
            ("GET", "/app", self.app),
            ("GET", "/app/installations", self.installations),
            ("GET", "/app/hook/deliveries", self.deliveries),
            ("GET", "/app/hook/deliveries/{id:int}", self.delivery),
            ("POST", "/app/installations/{id:int}/access_tokens", self.token),
            ("GET", "/installation/repositories", self.repositories),
            ("GET", repo, self.one_repo),
            ("GET", f"{repo}/issues", self.issues),
            ("GET", f"{repo}/issues/comments/{{id:int}}", self.comment),
            ("PATCH", f"{repo}/issues/comments/{{id:int}}", self.edit_comment),
            ("GET", f"{repo}/issues/comments/{{id:int}}/reactions", self.reactions),
            ("POST", f"{repo}/issues/comments/{{id:int}}/reactions", self.react),
            ("GET", f"{repo}/issues/{{number:int}}", self.issue),
            ("GET", f"{repo}/issues/{{number:int}}/comments", self.comments),
            ("POST", f"{repo}/issues/{{number:int}}/comments", self.create_comment),
            ("POST", f"{repo}/issues/{{number:int}}/labels", self.add_labels),
            ("DELETE", f"{repo}/issues/{{number:int}}/labels/{{label:path}}", self.remove_label),
            ("GET", f"{repo}/issues/{{number:int}}/events", self.events),
            ("GET", f"{repo}/issues/{{number:int}}/timeline", self.timeline),
            ("GET", "/gists/{id}", self.gist),
            ("GET", f"{repo}/labels", self.labels),
            ("POST", f"{repo}/labels", self.create_label),
            ("GET", f"{repo}/collaborators/{{login}}/permission", self.permission),
            ("GET", f"{repo}/contents/{{path:path}}", self.contents),
            ("GET", f"{repo}/installation", self.installation_of),
            ("POST", "/graphql", self.graphql),
        ]
        guarded = [Route(path, self._guarded(handle), methods=[verb]) for verb, path, handle in table]
        return [
            *guarded,
            Route("/login/oauth/authorize", self.authorize_user),
            Route("/login/oauth/access_token", self.user_token, methods=["POST"]),
            Route("/user", self.user_asked),
            Route("/user/installations", self.user_installations),
            Route("/user/installations/{id:int}/repositories", self.user_repositories),
            Route("/settings/apps/new", self.new_app, methods=["POST"]),
            Route("/app-manifests/{code}/conversions", self.convert, methods=["POST"]),
        ]

    async def authorize_user(self, request: Request) -> Response:
        """The page where a person lets the App know who they are, confirmed."""
        asked = dict(request.query_params)
        if asked["client_id"] != CLIENT[0]:
            return _error(404, "Not Found")
        code = f"code{len(self.state.codes)}"
        self.state.codes[code] = (self.state.browser, asked)
        query = urlencode({"code": code, "state": asked["state"]})
        return RedirectResponse(f"{asked['redirect_uri']}?{query}", 302)

    async def user_token(self, request: Request) -> Response:
        """Errors come with status 200, as GitHub has them."""
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        login, asked = self.state.codes.pop(form["code"], ("", {}))
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        fits = (
            (form["client_id"], form["client_secret"]) == CLIENT
            and asked.get("redirect_uri") == form["redirect_uri"]
            and asked.get("code_challenge_method") == "S256"
            and asked.get("code_challenge") == base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        )
        if not fits:
            return JSONResponse({"error": "bad_verification_code"})
        token = f"ghu_{len(self.state.user_tokens)}"
        self.state.user_tokens[token] = login
        return JSONResponse({"access_token": token, "token_type": "bearer", "scope": ""})

    def _person(self, request: Request) -> str:
        return self.state.user_tokens.get(request.headers.get("authorization", "").partition(" ")[2], "")

    async def user_asked(self, request: Request) -> Response:
        login = self._person(request)
        return JSONResponse(user(login)) if login else _error(401, "Bad credentials")

    async def user_installations(self, request: Request) -> Response:
        return _page(request, list(self.state.installations.values()), "installations")

    async def user_repositories(self, request: Request) -> Response:
        """Those of an installation that the person may read."""
        login, number = self._person(request), request.path_params["id"]
        repos = [
            {
                "id": repo.id,
                "permissions": {"pull": True, "push": repo.permissions[login] in ("write", "admin")},
            }
            for repo in self.state.repos.values()
            if login in repo.permissions and repo.installation in (None, number)
        ]
        return _page(request, repos, "repositories")

    async def new_app(self, request: Request) -> Response:
        """The page of GitHub's where people confirm a manifest, confirmed."""
        form = parse_qs((await request.body()).decode())
        self.state.manifest = json.loads(form["manifest"][0])
        query = urlencode({"code": "a-code", "state": request.query_params["state"]})
        return RedirectResponse(f"{self.state.manifest['redirect_url']}?{query}", 302)

    async def convert(self, request: Request) -> Response:
        if request.path_params["code"] != "a-code" or not self.state.manifest:
            return _error(404, "Not Found")
        app = {
            "id": APP_ID,
            "slug": SLUG,
            "pem": self.state.private_key,
            "webhook_secret": "chosen by GitHub",
        }
        return JSONResponse({**app, "client_id": CLIENT[0], "client_secret": CLIENT[1]}, 201)

    def _guarded(self, handle: Callable[..., Response]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            refused = self._authorize(request) or self._moved(request)
            if refused is not None:
                return refused
            sent = await request.body()
            return handle(request, json.loads(sent) if sent else None)

        return endpoint

    def _authorize(self, request: Request) -> Response | None:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        repo = "/".join(request.url.path.split("/")[2:4])
        if request.url.path.endswith("/installation") and repo not in self.state.repos:
            return _error(404, "Not Found")
        if request.url.path.startswith("/app") or request.url.path.endswith("/installation"):
            try:
                claims = jwt.decode(token, self.state.key.public_key(), algorithms=["RS256"])
            except jwt.PyJWTError:
                return _error(401, "A JSON web token could not be decoded")
            return None if claims["iss"] == str(APP_ID) else _error(401, "Integration not found")
        installation = self.state.tokens.get(token)
        if kind.lower() not in {"token", "bearer"} or installation is None or token in self.state.revoked:
            return _error(401, "Bad credentials")
        if self.state.installations[installation].get("suspended_at"):
            return _error(403, "This installation has been suspended")
        owner, name = request.path_params.get("owner"), request.path_params.get("name")
        if f"{owner}/{name}" in self.state.renamed:
            return None
        if owner and f"{owner}/{name}" not in self.state.repos:
            return _error(404, "Not Found")
        if owner and self._repo(request).archived and request.method != "GET":
            return _error(403, "Repository was archived so is read-only.")
        return None

    def _moved(self, request: Request) -> Response | None:
        """301 for GET and 307 for other verbs, as GitHub has it since 2015."""
        parts = request.url.path.split("/", 4)
        to = self.state.renamed.get("/".join(parts[2:4])) if parts[1] == "repos" else None
        there = f"{to}/{parts[4]}" if to and len(parts) > 4 else to
        if there is None and "number" in request.path_params:
            issue = self._repo(request).issues.get(request.path_params["number"])
            there = issue.moved_to if issue is not None else None
        if not there:
            return None
        url = there if "://" in there else str(request.base_url).rstrip("/") + there
        status = 301 if request.method == "GET" else 307
        return JSONResponse({"message": "Moved", "url": url}, status, {"location": url})

    def installation_of(self, request: Request, _: Any) -> Response:
        found = self._repo(request).installation or next(iter(self.state.installations))
        return JSONResponse({"id": found})

    def graphql(self, request: Request, asked: Any) -> Response:
        """Answered by `state.graphql`; refused without one, and whatever could change something."""
        self.state.queries.append(asked)
        if self.state.graphql is None or not asked["query"].startswith("query"):
            return _error(400, "Problems parsing JSON")
        return JSONResponse(self.state.graphql(asked["query"], asked["variables"]))

    def one_repo(self, request: Request, _: Any) -> Response:
        return JSONResponse({"id": self._repo(request).id, "full_name": self._repo(request).full_name})

    def _login(self, request: Request) -> str:
        return self.state.logins.get(request.headers["authorization"].partition(" ")[2], BOT)

    def _repo(self, request: Request) -> FakeRepo:
        return self.state.repos[f"{request.path_params['owner']}/{request.path_params['name']}"]

    def _issue(self, request: Request) -> FakeIssue | None:
        issue = self._repo(request).issues.get(request.path_params["number"])
        return None if issue is None or issue.deleted else issue

    def _comment(self, request: Request) -> FakeComment | None:
        return self.state.find_comment(self._repo(request), request.path_params["id"])

    def app(self, request: Request, _: Any) -> Response:
        return JSONResponse({"id": APP_ID, "slug": SLUG, "permissions": self.state.permissions})

    def installations(self, request: Request, _: Any) -> Response:
        return _page(request, list(self.state.installations.values()))

    def token(self, request: Request, _: Any) -> Response:
        installation = self.state.installations.get(request.path_params["id"])
        if installation is None:
            return _error(404, "Not Found")
        if installation.get("suspended_at"):
            return _error(403, "This installation has been suspended")
        token = f"ghs_{len(self.state.tokens):036d}"
        self.state.tokens[token] = installation["id"]
        until = datetime.now(UTC) + timedelta(hours=1)
        return JSONResponse({"token": token, "expires_at": until.strftime("%Y-%m-%dT%H:%M:%SZ")}, 201)

    def deliveries(self, request: Request, _: Any) -> Response:
        size = int(request.query_params.get("per_page", "30"))
        start = int(request.query_params.get("cursor", "0"))
        kept = [{k: v for k, v in d.items() if k != "request"} for d in self.state.deliveries]
        headers = {}
        if len(kept) > start + size:
            headers["link"] = f'<{request.url.include_query_params(cursor=start + size)}>; rel="next"'
        return JSONResponse(kept[start : start + size], headers=headers)

    def delivery(self, request: Request, _: Any) -> Response:
        id_ = request.path_params["id"]
        found = next((d for d in self.state.deliveries if d["id"] == id_), None)
        return _error(404, "Not Found") if found is None else JSONResponse(found)

    def repositories(self, request: Request, _: Any) -> Response:
        token = request.headers["authorization"].partition(" ")[2]
        repos = [
            {"id": r.id, "full_name": r.full_name, "archived": r.archived}
            for r in self.state.repos.values()
            if r.installation in {None, self.state.tokens[token]}
        ]
        return JSONResponse({"total_count": len(repos), "repositories": repos})

    def issues(self, request: Request, _: Any) -> Response:
        found = [i for i in self._repo(request).issues.values() if not i.deleted and i.state == "open"]
        found.sort(key=lambda i: i.created_at, reverse=True)
        etag = f'"{hashlib.sha256(repr(found).encode()).hexdigest()[:16]}"'
        if request.headers.get("if-none-match") == etag:
            self.state.unchanged += 1
            return Response(status_code=304, headers={"etag": etag})
        page = _page(request, [_issue_json(i) for i in found])
        page.headers["etag"] = etag
        return page

    def issue(self, request: Request, _: Any) -> Response:
        held = self._repo(request).issues.get(request.path_params["number"])
        if held is not None and held.deleted:
            return _error(410, "This issue was deleted")
        return _error(404, "Not Found") if held is None else JSONResponse(_issue_json(held))

    def comments(self, request: Request, _: Any) -> Response:
        issue = self._issue(request)
        if issue is None:
            return _error(404, "Not Found")
        return _page(request, [_comment_json(c) for c in issue.comments])

    def create_comment(self, request: Request, data: Any) -> Response:
        issue = self._issue(request)
        if issue is None:
            return _error(404, "Not Found")
        if issue.locked:
            return _error(403, "Unable to create comment because issue is locked.")
        if len(data["body"]) > 65_536:
            return _error(422, "Body is too long (maximum is 65536 characters)")
        return JSONResponse(
            _comment_json(self.state.add_comment(issue, self._login(request), data["body"])), 201
        )

    def comment(self, request: Request, _: Any) -> Response:
        comment = self._comment(request)
        return _error(404, "Not Found") if comment is None else JSONResponse(_comment_json(comment))

    def edit_comment(self, request: Request, data: Any) -> Response:
        comment = self._comment(request)
        if comment is None:
            return _error(404, "Not Found")
        comment.body = data["body"]
        comment.edits += 1
        return JSONResponse(_comment_json(comment))

    def reactions(self, request: Request, _: Any) -> Response:
        comment = self._comment(request)
        if comment is None:
            return _error(404, "Not Found")
        at = "2026-01-01T00:00:00Z"
        given = [{"user": user(login), "content": c, "created_at": at} for login, c in comment.reactions]
        return _page(request, given)

    def react(self, request: Request, data: Any) -> Response:
        comment = self._comment(request)
        if comment is None:
            return _error(404, "Not Found")
        given = (self._login(request), data["content"])
        known = given in comment.reactions
        if not known:
            comment.reactions.append(given)
        return JSONResponse({"content": data["content"]}, 200 if known else 201)

    def add_labels(self, request: Request, data: Any) -> Response:
        issue = self._issue(request)
        if issue is None:
            return _error(404, "Not Found")
        for name in data["labels"]:
            # GitHub creates a label that is not there; a test must see that.
            if name not in self._repo(request).labels:
                self._repo(request).labels.append(name)
            if name not in issue.labels:
                issue.labels.append(name)
                issue.events.append(("labeled", name, self._login(request)))
        return JSONResponse([{"name": name} for name in issue.labels])

    def remove_label(self, request: Request, _: Any) -> Response:
        issue, name = self._issue(request), request.path_params["label"]
        if issue is None or name not in issue.labels:
            return _error(404, "Label does not exist")
        issue.labels.remove(name)
        issue.events.append(("unlabeled", name, self._login(request)))
        return JSONResponse([{"name": left} for left in issue.labels])

    def events(self, request: Request, _: Any) -> Response:
        issue = self._issue(request)
        if issue is None:
            return _error(404, "Not Found")
        found = [{"event": e, "label": {"name": n}, "actor": user(a)} for e, n, a in issue.events]
        return _page(request, [{"event": "subscribed", "actor": issue.author}, *found])

    def timeline(self, request: Request, _: Any) -> Response:
        issue = self._issue(request)
        return _error(404, "Not Found") if issue is None else _page(request, issue.timeline)

    def gist(self, request: Request, _: Any) -> Response:
        files = self.state.gists.get(request.path_params["id"])
        return _error(404, "Not Found") if files is None else JSONResponse({"files": files})

    def labels(self, request: Request, _: Any) -> Response:
        return _page(request, [{"name": name} for name in self._repo(request).labels])

    def create_label(self, request: Request, data: Any) -> Response:
        if data["name"] in self._repo(request).labels:
            return _error(422, "Validation Failed")
        self._repo(request).labels.append(data["name"])
        return JSONResponse({"name": data["name"]}, 201)

    def permission(self, request: Request, _: Any) -> Response:
        found = self._repo(request).permissions.get(request.path_params["login"], "read")
        return JSONResponse({"permission": found, "role_name": found})

    def contents(self, request: Request, _: Any) -> Response:
        text = self._repo(request).files.get(request.path_params["path"])
        if text is None:
            return _error(404, "Not Found")
        etag = f'"{hashlib.sha256(text.encode()).hexdigest()[:16]}"'
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers={"etag": etag})
        content = base64.encodebytes(text.encode()).decode()
        data = {"type": "file", "encoding": "base64", "size": len(text), "content": content}
        return JSONResponse(data, headers={"etag": etag})


class _Faulty:
    """The front of the server: counts, delays, refuses, and drops connections as the plan says."""

    def __init__(self, app: ASGIApp, state: FakeGitHub) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method, path = scope["method"], scope["path"]
        self._state.requests.append((method, path))
        self._state.headers.append({k.decode().lower(): v.decode() for k, v in scope["headers"]})
        if path.startswith("/repositories/"):
            id_, _, rest = path.removeprefix("/repositories/").partition("/")
            named = next((r.full_name for r in self._state.repos.values() if str(r.id) == id_), "no/where")
            scope["path"] = f"/repos/{named}/{rest}" if rest else f"/repos/{named}"
            scope["raw_path"] = scope["path"].encode()
        if self._state.on_request is not None:
            self._state.on_request(method, path)
        fault = self._state.faults(method, path) if self._state.faults else None
        if fault is not None and fault.kind in {"drop_after", "502_after"}:
            await self._app(scope, receive, _swallow)
        if fault is not None and fault.kind.startswith("drop"):
            # uvicorn hands `receive` out as a method of the cycle that holds the socket.
            receive.__self__.transport.abort()  # type: ignore[attr-defined]
            return
        pause = self._state.latency + (fault.seconds if fault and fault.kind == "slow" else 0.0)
        if pause:
            await asyncio.sleep(pause)
        answer = _refusal(fault)
        await (answer or self._app)(scope, receive, send)


async def _swallow(message: Any) -> None:
    return None


def _refusal(fault: Fault | None) -> Response | None:
    if fault is None or fault.kind == "slow":
        return None
    if fault.kind in {"403", "422"}:
        words = {"403": "Resource not accessible", "422": "Validation Failed"}
        return _error(int(fault.kind), words[fault.kind])
    if fault.kind in {"500", "502", "502_after"}:
        return Response("<html>oops</html>", int(fault.kind[:3]), media_type="text/html")
    if fault.kind == "primary":
        reset = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time() + fault.seconds))}
        return _error(403, "API rate limit exceeded for installation ID 1.", reset)
    wait = {"retry-after": str(int(fault.seconds))} if fault.kind == "retry_after" else None
    return _error(403, "You have exceeded a secondary rate limit. Please wait a few minutes.", wait)


@contextmanager
def serve(state: FakeGitHub) -> Iterator[str]:
    """Run the fake on a free port; the value is its root address."""
    app = _Faulty(Starlette(routes=_Api(state).routes()), state)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(timeout=10)
