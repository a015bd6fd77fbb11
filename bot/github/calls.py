"""Calls over PyGithub's requester: its tokens and its connection, our errors, lists page by page.

Only GET is retried here: a write whose answer was lost may have worked, and who asked for it must look first.
"""

from __future__ import annotations

import base64
import binascii
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import requests
from github.GithubException import GithubException
from github.Requester import Requester

from bot.github import redirects
from bot.github.client_errors import meaning, no_answer
from bot.github.errors import GitHubError, Gone
from bot.github.pause import Pause
from bot.github.redirects import RepoPath

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
        """The parsed answer of a call; raises the errors of bot/github/errors.py."""
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
        for _ in range(redirects.MOST):
            status, got, data = self._authorized(verb, place, input_, params, headers)
            if status < 300 or status == 304:
                return status, got, data
            if status not in redirects.STATUSES:
                break
            place = redirects.target(status, got, self._api_url)
            if isinstance(path, RepoPath):
                self._same_repository(path, place)
        raise GitHubError(f"GitHub answered {status}", status)

    def _same_repository(self, path: RepoPath, there: str) -> None:
        named = redirects.repository_of(path, there)
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
