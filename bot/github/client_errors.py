"""What a failed call to GitHub means for what is done next. Pure.

https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api
"""

from __future__ import annotations

from collections.abc import Mapping

from bot.github.errors import Forbidden, GitHubError, Gone, NotAllowed, Outage, TryAgain

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
        return min(3600.0, max(1.0, int(headers["x-ratelimit-reset"]) - now + 1))
    if status == 429 or any(word in text for word in _LIMITS):
        return _SECONDARY_WAIT
    return None


def _wait(headers: Mapping[str, str]) -> float | None:
    value = headers.get("retry-after", "")
    return min(3600.0, float(value)) if value.isascii() and value.isdigit() else None
