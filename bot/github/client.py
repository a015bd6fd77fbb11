"""One installation's GitHub, as calls of the REST API.

https://docs.github.com/rest/issues, https://docs.github.com/rest/repos/contents, https://docs.github.com/rest/reactions
"""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from github.Requester import (
    HTTPRequestsConnectionClass,
    HTTPSRequestsConnectionClass,
    Requester,
    RequestsResponse,
)
from urllib3.util import Retry

from bot.gate.rules import PassedLabel, PassedMarkdown
from bot.github.calls import Caller, RepoPath, file_text
from bot.github.payload import sound
from bot.github.ports import Closing, Comment, File, GitHub, Issue, LabelEvent, Permission, Reaction
from bot.github.records import GitHubError, Gone, IssueRef, RepoRef, TooLarge

HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
"""https://docs.github.com/rest/about-the-rest-api/api-versions"""


def read_retries() -> Retry:
    """Two more tries for a GET that met a server error or a dropped connection, a moment apart."""
    return Retry(
        total=2,
        status_forcelist=(500, 502, 503, 504),
        allowed_methods=frozenset({"GET"}),
        backoff_factor=0.2,
        respect_retry_after_header=False,
        raise_on_status=False,
    )


MOST_BYTES = 32 * 1024 * 1024
"""Of one answer: a page of a hundred comments of 65,536 characters has room in it; a gist can be ten times as long."""


class _Bounded(RequestsResponse):
    """Reads no more of an answer than `MOST_BYTES`."""

    def read(self) -> str:
        body = bytearray()
        for piece in self.response.iter_content(65_536):
            body += piece
            if len(body) > MOST_BYTES:
                self.response.close()
                raise TooLarge("GitHub's answer is too long", self.status)
        return body.decode("utf-8", "replace")


class _Http(HTTPRequestsConnectionClass):
    def request(self, verb: str, url: str, input: Any, headers: dict[str, str], stream: bool = False) -> None:
        self.session.stream = True
        super().request(verb, url, input, headers | HEADERS, stream)

    def getresponse(self) -> RequestsResponse:
        return _not_followed(super().getresponse())


class _Https(HTTPSRequestsConnectionClass):
    def request(
        self,
        verb: str,
        url: str,
        input: str | io.BufferedReader | None,
        headers: dict[str, str],
        stream: bool = False,
    ) -> None:
        self.session.stream = True
        super().request(verb, url, input, headers | HEADERS, stream)

    def getresponse(self) -> RequestsResponse:
        return _not_followed(super().getresponse())


def _not_followed(response: RequestsResponse) -> RequestsResponse:
    # 308 means what GitHub's 301 does (repeat the same call there), and PyGithub does not follow it.
    bounded = _Bounded(response.response)
    bounded.status = 308 if response.status == 301 else response.status
    return bounded


def install() -> None:
    """Let every requester of PyGithub made from now on use these connections."""
    Requester.injectConnectionClasses(_Http, _Https)


_FILE_BYTES = 65_536
_PAGE = 100
_NEW_LABEL_COLOUR = "ededed"
_MERGED_WITHIN = 60.0
"""Seconds between the merge of a pull request and the closing of an issue that it closes."""


class InstallationGitHub(GitHub):
    """GitHub with an installation's token; `login` is the bot's own."""

    def __init__(self, caller: Caller, login: str) -> None:
        self._caller = caller
        self._login = login
        self._seen: dict[int, tuple[str, list[Issue]]] = {}
        """By repository: the ETag of its newest issues, and those of the last look's window."""

    @property
    def login(self) -> str:
        """The bot's own login."""
        return self._login

    def issue(self, ref: IssueRef) -> Issue:
        """GET an issue."""
        return _issue(self._caller.call("GET", _issue_path(ref)))

    def comments(self, ref: IssueRef) -> list[Comment]:
        """GET all its comments."""
        return [_comment(item) for item in self._caller.pages(_issue_path(ref) / "comments")]

    def comment(self, ref: IssueRef, comment_id: int) -> Comment:
        """GET one comment."""
        return _comment(self._caller.call("GET", _comment_path(ref, comment_id)))

    def create_comment(self, ref: IssueRef, body: PassedMarkdown) -> Comment:
        """POST a comment."""
        return _comment(self._caller.call("POST", _issue_path(ref) / "comments", {"body": body}))

    def edit_comment(self, ref: IssueRef, comment_id: int, body: PassedMarkdown) -> None:
        """PATCH a comment."""
        self._caller.call("PATCH", _comment_path(ref, comment_id), {"body": body})

    def add_labels(self, ref: IssueRef, labels: list[PassedLabel]) -> None:
        """POST labels; GitHub would create unknown ones, which is why only `PassedLabel`s come here."""
        self._caller.call("POST", _issue_path(ref) / "labels", {"labels": list(labels)})

    def remove_label(self, ref: IssueRef, label: PassedLabel) -> None:
        """DELETE a label from the issue."""
        try:
            self._caller.call("DELETE", _issue_path(ref) / f"labels/{quote(label, safe='')}")
        except Gone:
            return

    def repo_labels(self, repo: RepoRef) -> frozenset[str]:
        """GET the repository's labels."""
        return frozenset(str(item["name"]) for item in self._caller.pages(RepoPath(repo, "/labels")))

    def create_label(self, repo: RepoRef, label: PassedLabel) -> None:
        """POST a label of a neutral colour; 422 means that it is there."""
        try:
            self._caller.call("POST", RepoPath(repo, "/labels"), {"name": label, "color": _NEW_LABEL_COLOUR})
        except GitHubError as error:
            if error.status != 422:
                raise

    def label_events(self, ref: IssueRef) -> list[LabelEvent]:
        """GET the issue's events and keep those about labels."""
        found = []
        for item in self._caller.pages(_issue_path(ref) / "events"):
            if item.get("event") in {"labeled", "unlabeled"}:
                name = str(item["label"]["name"])
                found.append(LabelEvent(name, item["event"] == "labeled", _login(item.get("actor"))))
        return found

    def closing(self, ref: IssueRef, at: datetime) -> Closing:
        """GET the issue's timeline: who closed it last, and the merged pull request that names it, if merged just then.

        The closing event names a commit, and no pull request: https://docs.github.com/rest/issues/timeline
        """
        by, commit, pull_request = "", "", ""
        for item in self._caller.pages(_issue_path(ref) / "timeline"):
            if item.get("event") == "closed":
                by, commit = _login(item.get("actor")), str(item.get("commit_id") or "")
            if item.get("event") == "cross-referenced":
                source = (item.get("source") or {}).get("issue") or {}
                merged = (source.get("pull_request") or {}).get("merged_at")
                if merged and abs((_time(merged) - at).total_seconds()) <= _MERGED_WITHIN:
                    repo = (source.get("repository") or {}).get("full_name") or ref.repo.full_name
                    pull_request = f"{repo}#{source['number']}"
        return Closing(by, commit, pull_request)

    def gist(self, gist_id: str) -> list[tuple[str, str]]:
        """GET a gist: https://docs.github.com/rest/gists/gists#get-a-gist"""
        found = self._caller.call("GET", f"/gists/{quote(gist_id, safe='')}")
        files = (found.get("files") or {}).values() if isinstance(found, dict) else ()
        texts = [
            f for f in files if isinstance(f, dict) and _is_text(f) and isinstance(f.get("content"), str)
        ]
        return [(sound(str(f.get("filename") or "")), sound(f["content"])) for f in texts]

    def react(self, ref: IssueRef, comment_id: int, reaction: Reaction) -> None:
        """POST a reaction; GitHub answers the same one with 200 instead of 201."""
        self._caller.call("POST", _comment_path(ref, comment_id) / "reactions", {"content": reaction})

    def reactions(self, ref: IssueRef, comment_id: int) -> list[tuple[str, str, datetime]]:
        """GET the reactions to a comment."""
        path = _comment_path(ref, comment_id) / "reactions"
        return [
            (_login(item.get("user")), str(item["content"]), datetime.fromisoformat(item["created_at"]))
            for item in self._caller.pages(path)
        ]

    def permission(self, repo: RepoRef, login: str) -> Permission:
        """GET a user's permission; somebody unknown has none."""
        path = RepoPath(repo, f"/collaborators/{quote(login, safe='')}/permission")
        try:
            found = self._caller.call("GET", path)["permission"]
        except Gone:
            return "none"
        known: dict[str, Permission] = {"admin": "admin", "write": "write", "read": "read"}
        return known.get(found, "none")

    def file(self, repo: RepoRef, path: str, etag: str | None) -> File:
        """GET a file unless its ETag still fits; 304 costs nothing of the rate limit."""
        headers = {"If-None-Match": etag} if etag else {}
        try:
            status, got, data = self._caller.answer(
                "GET", RepoPath(repo, f"/contents/{quote(path)}"), headers=headers
            )
        except Gone:
            return File("absent")
        if status == 304:
            return File("same", None, etag)
        text = file_text(data, _FILE_BYTES)
        etag = got.get("etag")
        return File("unusable", None, etag) if text is None else File("found", text, etag)

    def recent_issues(self, repo: RepoRef, since: datetime) -> list[Issue]:
        """GET open issues created since then; a 304 costs nothing of the rate limit and means those of before."""
        path, query = RepoPath(repo, "/issues"), {"state": "open", "sort": "created", "direction": "desc"}
        etag, found = self._seen.get(repo.id, ("", []))
        headers = {"If-None-Match": etag} if etag else {}
        status, got, items = self._caller.answer("GET", path, None, query | {"per_page": _PAGE}, headers)
        if status != 304:
            newest = [_issue(item) for item in items]
            if len(newest) == _PAGE and newest[-1].created_at >= since:
                newest = [_issue(item) for item in self._caller.pages(path, **query)]
            etag, found = got.get("etag", ""), [issue for issue in newest if not issue.is_pull_request]
        found = [issue for issue in found if issue.created_at >= since]
        self._seen[repo.id] = (etag, found)
        return found

    def repos(self) -> list[RepoRef]:
        """GET the installation's repositories."""
        items = self._caller.pages("/installation/repositories")
        return [RepoRef(i["id"], i["full_name"]) for i in items if not i.get("archived")]


def _issue_path(ref: IssueRef) -> RepoPath:
    return RepoPath(ref.repo, f"/issues/{ref.number}")


def _comment_path(ref: IssueRef, comment_id: int) -> RepoPath:
    return RepoPath(ref.repo, f"/issues/comments/{comment_id}")


def _login(user: Any) -> str:
    return str(user["login"]) if user else "ghost"


def _is_bot(user: Any) -> bool:
    return bool(user) and (user.get("type") == "Bot" or _login(user).endswith("[bot]"))


def _issue(data: Any) -> Issue:
    user = data.get("user")
    return Issue(
        number=data["number"],
        title=sound(data.get("title") or ""),
        body=sound(data.get("body") or ""),
        author=_login(user),
        author_is_bot=_is_bot(user),
        labels=frozenset(str(label["name"]) for label in data.get("labels") or []),
        open=data.get("state") != "closed",
        locked=bool(data.get("locked")),
        is_pull_request=bool(data.get("pull_request")),
        created_at=_time(data["created_at"]),
        comments=data.get("comments") or 0,
        closed_at=_time(data["closed_at"]) if data.get("closed_at") else None,
        state_reason=str(data.get("state_reason") or ""),
    )


def _comment(data: Any) -> Comment:
    user = data.get("user")
    association = str(data.get("author_association") or "NONE")
    at = _time(data["created_at"]) if data.get("created_at") else None
    return Comment(data["id"], _login(user), _is_bot(user), sound(data.get("body") or ""), association, at)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _is_text(file: dict[str, Any]) -> bool:
    return str(file.get("type") or "text/plain").startswith(("text/", "application/"))
