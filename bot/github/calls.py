"""Calls over PyGithub's requester: its tokens and its connection, our errors, lists page by page.

Only GET is retried here: a write whose answer was lost may have worked, and who asked for it must look first.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlsplit

import requests
from github.GithubException import GithubException
from github.Requester import Requester

from bot.github.records import Forbidden, GitHubError, Gone, NotAllowed, Outage, RepoRef, TryAgain

_WORDS: tuple[tuple[str, Forbidden], ...] = (
    ("suspended", "suspended"),
    ("archived", "archived"),
    ("read-only", "archived"),
    ("locked", "locked"),
)
_LIMITS = (
    "rate limit",
    "please wait a few minutes",
    "please retry your request again later",
    "abuse detection",
)
_NO_ANSWER_WAIT = 5.0
_SERVER_WAIT = 10.0
_SECONDARY_WAIT = 60.0
"""GitHub asks for at least a minute after a secondary limit without Retry-After."""


def meaning(status: int, headers: Mapping[str, str], message: str, now: float) -> GitHubError:
    """The error for an answer; `now` in seconds since 1970, `message` GitHub's own."""
    text = message.lower()
    what = f"GitHub answered {status}"
    if status in {403, 429} and (limit := _limit_wait(status, headers, text, now)) is not None:
        return TryAgain(f"{what}: rate limit", after=limit, status=status)
    if status in {404, 410, 451}:
        return Gone(what, status)
    if status == 403:
        why: Forbidden = next((name for word, name in _WORDS if word in text), "forbidden")
        return NotAllowed(f"{what}: {why}", why, status)
    if status >= 500 or status == 408:
        return Outage(what, after=_wait(headers) or _SERVER_WAIT, status=status)
    return GitHubError(what, status)


def no_answer(kind: str) -> Outage:
    """The error for a connection that failed, was dropped or timed out: the call may have worked."""
    return Outage(f"no answer from GitHub ({kind})", after=_NO_ANSWER_WAIT)


def _limit_wait(status: int, headers: Mapping[str, str], text: str, now: float) -> float | None:
    asked = _wait(headers)
    if asked is not None:
        return asked
    if headers.get("x-ratelimit-remaining") == "0" and headers.get("x-ratelimit-reset", "").isdigit():
        return reset_wait(int(headers["x-ratelimit-reset"]), now)
    if status == 429 or any(word in text for word in _LIMITS):
        return _SECONDARY_WAIT
    return None


def reset_wait(reset: float, now: float) -> float:
    """Seconds until a rate limit is reset, both in seconds since 1970: at least one, at most an hour."""
    return min(3600.0, max(1.0, reset - now + 1))


def _wait(headers: Mapping[str, str]) -> float | None:
    value = headers.get("retry-after", "")
    return min(3600.0, float(value)) if value.isascii() and value.isdigit() else None


REDIRECT_STATUSES = frozenset({301, 302, 307, 308})
MAX_REDIRECTS = 3
_BY_ID = re.compile(r"/repositories/(\d+)(/.*)?")
_BY_NAME = re.compile(r"(/repos/[^/]+/[^/]+)(/.*)?")


@dataclass(frozen=True, slots=True)
class RepoPath:
    """A path below a repository; `rest` begins with "/" or is empty."""

    repo: RepoRef
    rest: str = ""

    def __str__(self) -> str:
        return f"/repos/{quote(self.repo.full_name)}{self.rest}"

    def __truediv__(self, rest: str) -> RepoPath:
        return RepoPath(self.repo, f"{self.rest}/{rest}")


def redirect_target(status: int, headers: Mapping[str, str], api_url: str) -> str:
    """The path under `api_url` that a redirect names; `GitHubError` when it leads to another host."""
    root, there = urlsplit(api_url), urlsplit(headers.get("location", ""))
    same = not there.netloc or (there.scheme, there.netloc) == (root.scheme, root.netloc)
    prefix = root.path.rstrip("/")
    if not there.path.startswith(f"{prefix}/") or not same:
        raise GitHubError(f"GitHub answered {status} with an address elsewhere", status)
    return there.path.removeprefix(prefix)


def repository_of(place: RepoPath, there: str) -> int | str:
    """The repository that the redirect's path names, as its id or as the path to ask for it.

    `Gone` when something else than the repository changed: an issue that was transferred has another number.
    """
    if (found := _BY_ID.fullmatch(there)) and (found[2] or "") == place.rest:
        return int(found[1])
    if (found := _BY_NAME.fullmatch(there)) and (found[2] or "") == place.rest:
        return found[1]
    raise Gone("moved elsewhere", 301)


_LIMIT_STATUSES = frozenset({403, 429})


class Pause:
    """Until when no request may be made; `clock` in seconds, only going forward."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until = float("-inf")
        self._status = 429
        self._lock = threading.Lock()

    def check(self) -> None:
        """Raise `TryAgain` with the seconds left, while there are any; nothing was written then."""
        with self._lock:
            left = self._until - self._clock()
            if left > 0:
                raise TryAgain("GitHub's rate limit is waited for", after=left, status=self._status)

    def learn(self, error: GitHubError) -> None:
        """Pause for as long as a rate limit asks; any other error changes nothing."""
        if isinstance(error, TryAgain) and error.status in _LIMIT_STATUSES:
            with self._lock:
                self._until = max(self._until, self._clock() + error.after)
                self._status = error.status


_MAX_PAGES = 30
Path = str | RepoPath
Answer = tuple[int, dict[str, str], Any]


class Caller:
    """JSON calls over PyGithub's requester, with our errors; `api_url` is the root that paths hang on.

    A requester is not made for several threads at once, so each thread makes its own with `make`. The pause after
    a rate limit is one for all threads.
    """

    def __init__(self, make: Callable[[], Requester], api_url: str, pause: Pause | None = None) -> None:
        self._make = make
        self._api_url = api_url
        self._pause = pause or Pause()
        self._local = threading.local()

    def call(self, verb: str, path: Path, input_: Any = None, **params: Any) -> Any:
        """The parsed answer of a call; raises the errors of bot/github/records.py."""
        return self.answer(verb, path, input_, params)[2]

    def answer(
        self,
        verb: str,
        path: Path,
        input_: Any = None,
        params: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Status, headers in lower case and parsed body, for 2xx and 304; a renamed repository is followed."""
        place = str(path)
        for _ in range(MAX_REDIRECTS):
            status, got, data = self._authorized(verb, place, input_, params, headers)
            if status < 300 or status == 304:
                return status, got, data
            if status not in REDIRECT_STATUSES:
                break
            place = redirect_target(status, got, self._api_url)
            if isinstance(path, RepoPath):
                self._same_repository(path, place)
        raise GitHubError(f"GitHub answered {status}", status)

    def _same_repository(self, path: RepoPath, there: str) -> None:
        named = repository_of(path, there)
        found = named if isinstance(named, int) else self.call("GET", named).get("id")
        if found != path.repo.id:
            raise Gone("moved to another repository", 301)

    def _authorized(self, *call: Any) -> Answer:
        """Once more with a fresh token when the one kept is refused: tokens can be revoked before they expire."""
        kept = getattr(self._local, "requester", None)
        try:
            return self._ask(*call)
        except GitHubError as error:
            self._local.requester = None if error.status == 401 else getattr(self._local, "requester", None)
            if error.status != 401 or kept is None:
                raise
        return self._ask(*call)

    def _ask(
        self,
        verb: str,
        path: str,
        input_: Any,
        params: dict[str, Any] | None,
        headers: dict[str, str] | None,
    ) -> Answer:
        self._pause.check()
        try:
            status, got, text = self._requester().requestJson(verb, path, params, dict(headers or {}), input_)
        except GithubException as error:
            # Raised while fetching an installation's token.
            raise self._noted(_meaning(error)) from error
        except requests.RequestException as error:
            raise no_answer(type(error).__name__) from error
        data = _json(text)
        if status >= 400:
            message = str(data.get("message", "")) if isinstance(data, dict) else ""
            raise self._noted(meaning(status, got, message, time.time()))
        return status, got, data

    def _noted(self, error: GitHubError) -> GitHubError:
        self._pause.learn(error)
        return error

    def pages(self, path: Path, **params: Any) -> Iterator[Any]:
        """The items of a list, over at most 30 pages of 100."""
        for page in range(1, _MAX_PAGES + 1):
            _, headers, data = self.answer("GET", path, None, {**params, "per_page": 100, "page": page})
            yield from data if isinstance(data, list) else _listed(data)
            if 'rel="next"' not in headers.get("link", ""):
                return

    def after_cursor(self, path: str, **params: Any) -> Iterator[Any]:
        """The items of a list that is paged by a cursor, as the App's deliveries are."""
        query = {**params, "per_page": 100}
        for _ in range(_MAX_PAGES):
            _, headers, data = self.answer("GET", path, None, query)
            yield from data
            cursor = _cursor(headers.get("link", ""))
            if cursor is None:
                return
            query = {**query, "cursor": cursor}

    def _requester(self) -> Requester:
        found: Requester | None = getattr(self._local, "requester", None)
        if found is None:
            found = self._local.requester = self._make()
        return found


def file_text(data: Any, limit: int) -> str | None:
    """The text of a contents answer; None for a folder, a link, or something that is no text of that size."""
    if not isinstance(data, dict) or data.get("type") != "file" or data.get("encoding") != "base64":
        return None
    try:
        raw = base64.b64decode(data.get("content", ""))
    except (binascii.Error, ValueError):
        return None
    return raw.decode("utf-8", "replace") if len(raw) <= limit else None


def _json(text: str) -> Any:
    # PyGithub's own parser is private to it; an answer that is no JSON comes from a proxy in between.
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None


def _listed(data: Any) -> list[Any]:
    # Some lists come wrapped: {"total_count": 1, "repositories": [...]}
    lists = [v for v in data.values() if isinstance(v, list)] if isinstance(data, dict) else []
    return lists[0] if lists else []


def _cursor(link: str) -> str | None:
    for part in link.split(","):
        if 'rel="next"' in part and "cursor=" in part:
            return part.split("cursor=")[1].split("&")[0].split(">")[0]
    return None


def _meaning(error: GithubException) -> GitHubError:
    headers = {key.lower(): str(value) for key, value in (error.headers or {}).items()}
    message = str(error.data.get("message", "")) if isinstance(error.data, dict) else ""
    return meaning(error.status, headers, message, time.time())


# GitHub's GraphQL API for reading: queries alone, our errors, waiting where GitHub asks for it.
#
# https://docs.github.com/graphql,
# https://docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api

_LIMITED_WAIT = 60.0
_TIMEOUT_WAIT = 5.0


def graphql_url(api_url: str) -> str:
    """The GraphQL address beside a REST root: /api/graphql on GitHub Enterprise, /graphql on github.com."""
    root = api_url.rstrip("/")
    return f"{root.removesuffix('/v3')}/graphql" if root.endswith("/api/v3") else f"{root}/graphql"


class GraphQl:
    """Queries over an installation's caller."""

    def __init__(self, caller: Caller, api_url: str) -> None:
        self._caller = caller
        self._url = graphql_url(api_url)

    def query(self, text: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """The answer's data. Fields that the App may not read are null there; what is missing as a whole raises.

        `TryAgain` for a rate limit, `Outage` for a query that took GitHub too long, `Gone` for what is not there.
        """
        if not text.lstrip().startswith("query"):
            raise ValueError("only queries are sent from here")
        _, headers, body = self._caller.answer(
            "POST", self._url, {"query": text, "variables": dict(variables)}
        )
        body = body if isinstance(body, dict) else {}
        errors = [error for error in body.get("errors") or [] if isinstance(error, dict)]
        data = body.get("data")
        kinds = {str(error.get("type", "")) for error in errors}
        if "RATE_LIMITED" in kinds:
            raise TryAgain("GraphQL rate limit", after=_reset(headers), status=403)
        if not isinstance(data, dict) or not any(data.values()):
            if "NOT_FOUND" in kinds:
                raise Gone("not found", 404)
            if not errors or any("timeout" in str(error.get("message", "")).lower() for error in errors):
                raise Outage("GitHub did not finish the query", after=_TIMEOUT_WAIT, status=502)
            raise GitHubError(f"GitHub refused the query ({', '.join(sorted(kinds)) or 'no type'})", 200)
        return data


def _reset(headers: Mapping[str, str]) -> float:
    at = headers.get("x-ratelimit-reset", "")
    return reset_wait(int(at), time.time()) if at.isdigit() else _LIMITED_WAIT


def seconds_until(at: str) -> float:
    """Seconds until a time of GitHub's, at least one, at most an hour."""
    return reset_wait(datetime.fromisoformat(at).timestamp(), time.time())
