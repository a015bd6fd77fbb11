"""PyGithub's connections as this bot needs them: GitHub's headers on every call, redirects left to the caller.

PyGithub repeats a write that met a 301 wherever that points, takes a 307 for an answer, and asks for tokens with
the Accept header of a retired preview. Its own hook for connection classes is where all three are mended.
"""

from __future__ import annotations

import io
from typing import Any

from github.Requester import (
    HTTPRequestsConnectionClass,
    HTTPSRequestsConnectionClass,
    Requester,
    RequestsResponse,
)
from urllib3.util import Retry

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


class _Http(HTTPRequestsConnectionClass):
    def request(self, verb: str, url: str, input: Any, headers: dict[str, str], stream: bool = False) -> None:
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
        super().request(verb, url, input, headers | HEADERS, stream)

    def getresponse(self) -> RequestsResponse:
        return _not_followed(super().getresponse())


def _not_followed(response: RequestsResponse) -> RequestsResponse:
    # 308 means what GitHub's 301 does (repeat the same call there), and PyGithub does not follow it.
    if response.status == 301:
        response.status = 308
    return response


def install() -> None:
    """Let every requester of PyGithub made from now on use these connections."""
    Requester.injectConnectionClasses(_Http, _Https)
