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
from urllib3.util import Retry

from bot.github.client_errors import meaning, no_answer
from bot.github.errors import GitHubError

_MAX_PAGES = 30


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


class Caller:
    """JSON calls over PyGithub's requester, with our errors.

    A requester is not made for several threads at once, so each thread makes its own with `make`.
    """

    def __init__(self, make: Callable[[], Requester]) -> None:
        self._make = make
        self._local = threading.local()

    def call(self, verb: str, path: str, input_: Any = None, **params: Any) -> Any:
        """The parsed answer of a call; raises the errors of bot/github/errors.py."""
        return self.answer(verb, path, input_, params)[2]

    def answer(
        self,
        verb: str,
        path: str,
        input_: Any = None,
        params: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, str], Any]:
        """Status, headers in lower case and parsed body, for statuses below 400."""
        try:
            status, got, text = self._requester().requestJson(verb, path, params, headers or {}, input_)
        except GithubException as error:
            # Raised while fetching an installation's token.
            raise _meaning(error) from error
        except requests.RequestException as error:
            raise no_answer(type(error).__name__) from error
        data = _json(text)
        if status >= 400:
            message = str(data.get("message", "")) if isinstance(data, dict) else ""
            raise meaning(status, got, message, time.time())
        return status, got, data

    def pages(self, path: str, **params: Any) -> Iterator[Any]:
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
