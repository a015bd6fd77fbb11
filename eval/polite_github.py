"""Reading from GitHub's REST API politely: one request at a time, waiting when it says so.

Waits follow https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api: Retry-After
first, then x-ratelimit-reset when nothing remains, else a minute that doubles.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx2

from knowledge.errors import UserError

API = "https://api.github.com"
TRIES = 6
_LONGEST = 3700.0
"""GitHub's primary limit resets within the hour."""
_BETWEEN = 0.2
"""Seconds between requests that succeed."""


class FetchError(UserError):
    """GitHub could not be asked, or refused for good."""


@dataclass(frozen=True, slots=True)
class Gone:
    """What cannot be read any more: HTTP 404, 410 or 451."""

    status: int


class PoliteGitHub:
    """GET requests only; close it at the end. `wait` is what sleeps, `said` hears of long waits."""

    def __init__(
        self,
        token: str | None,
        api: str = API,
        wait: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
        said: Callable[[str], None] = lambda _: None,
    ) -> None:
        headers = {"X-GitHub-Api-Version": "2022-11-28", "User-Agent": "distriage-eval"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx2.Client(base_url=api, headers=headers, timeout=30, follow_redirects=True)
        self._wait, self._now, self._said = wait, now, said

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def file(self, repository: str, path: str, commit: str) -> bytes | Gone:
        """A file's bytes at a commit."""
        reply = self._get(
            f"/repos/{repository}/contents/{path}", {"ref": commit}, "application/vnd.github.raw+json"
        )
        return reply if isinstance(reply, Gone) else reply.content

    def issue(self, repository: str, number: int) -> dict[str, Any] | Gone:
        """An issue as the API gives it; FetchError when it is no JSON object."""
        reply = self._get(f"/repos/{repository}/issues/{number}", {}, "application/vnd.github+json")
        if isinstance(reply, Gone):
            return reply
        value = reply.json()
        if not isinstance(value, dict):
            raise FetchError(f"GitHub's reply about {repository}#{number} is no issue.", "Try again later.")
        return value

    def _get(self, path: str, query: dict[str, str], accept: str) -> httpx2.Response | Gone:
        backoff = 60.0
        for attempt in range(TRIES):
            try:
                reply = self._http.get(path, params=query, headers={"Accept": accept})
            except httpx2.TransportError as error:
                if attempt == TRIES - 1:
                    raise FetchError(
                        f"GitHub cannot be reached: {type(error).__name__}.",
                        "Check the network and run it again.",
                    ) from error
                self._wait(2.0**attempt)
                continue
            if reply.status_code == 200:
                self._wait(_BETWEEN)
                return reply
            if reply.status_code in (404, 410, 451):
                return Gone(reply.status_code)
            pause = self._pause(reply, attempt, backoff)
            if pause is None:
                raise FetchError(
                    f"GitHub answers {reply.status_code} to {path}.",
                    "Give a token that may read public repositories (--token or GITHUB_TOKEN).",
                )
            backoff *= 2
            if pause > 5:
                self._said(f"GitHub asks to wait {pause:.0f} s")
            self._wait(pause)
        raise FetchError(f"GitHub did not answer {path} in {TRIES} tries.", "Run it again later; it resumes.")

    def _pause(self, reply: httpx2.Response, attempt: int, backoff: float) -> float | None:
        """Seconds until the next try; None when trying again is of no use."""
        if reply.status_code >= 500:
            return 2.0**attempt
        asked = reply.headers.get("retry-after", "")
        remaining, reset = (
            reply.headers.get("x-ratelimit-remaining"),
            reply.headers.get("x-ratelimit-reset", ""),
        )
        if reply.status_code not in (403, 429):
            return None
        if asked.isdigit():
            return min(_LONGEST, float(asked))
        if remaining == "0" and reset.isdigit():
            return min(_LONGEST, max(1.0, float(reset) - self._now() + 1))
        return backoff if reply.status_code == 429 or "secondary" in reply.text.lower() else None
