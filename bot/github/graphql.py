"""GitHub's GraphQL API for reading: queries alone, our errors, waiting where GitHub asks for it.

https://docs.github.com/graphql, https://docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bot.github.calls import Caller, reset_wait
from bot.github.errors import GitHubError, Gone, Outage, TryAgain

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
