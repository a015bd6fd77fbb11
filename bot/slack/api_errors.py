"""From slack-sdk's errors to ours: whether a call may have had its effect decides whether it may be repeated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError, URLError

from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.webhook import WebhookResponse

from bot.jobs.retry import TryLater
from bot.slack.errors import Gone, Refused, Unreachable, Unsure

_SPENT = {"expired_url", "used_url", "invalid_url"}
_LONGEST_WAIT = 900.0


@contextmanager
def slack_errors() -> Iterator[None]:
    """Turn what slack-sdk and urllib raise into the errors of bot/slack/errors.py, or `TryLater`."""
    try:
        yield
    except SlackApiError as error:
        raise _refusal(error) from None
    except HTTPError as error:
        raise Refused(f"http_{error.code}") from None
    except URLError as error:
        # urllib wraps what happens up to the sending of the request, and nothing later.
        if isinstance(error.reason, TimeoutError) or not isinstance(error.reason, OSError):
            raise Unsure("Slack did not answer in time") from None
        raise Unreachable(f"Slack cannot be reached: {type(error.reason).__name__}") from None
    except (OSError, SlackClientError) as error:
        raise Unsure(f"the answer was lost: {type(error).__name__}") from None


def _refusal(error: SlackApiError) -> Exception:
    status = getattr(error.response, "status_code", 200)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return TryLater("Slack", _wait(error.response.headers))
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return Unreachable("Slack is out of service")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Unsure(f"Slack answered {status}")
    code = error.response.get("error")
    return Refused(code if isinstance(code, str) and len(code) < 60 else "unknown_error")


def check_response(answer: WebhookResponse) -> None:
    """Raise what the answer of a response URL says, if it is not 200."""
    if answer.status_code == HTTPStatus.OK:
        return
    if answer.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        raise TryLater("Slack", _wait(answer.headers))
    if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
        raise Unreachable("Slack is out of service")
    if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise Unsure(f"Slack answered {answer.status_code}")
    if answer.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE) or answer.body.strip()[:40] in _SPENT:
        raise Gone("the response URL is spent")
    raise Refused(f"http_{answer.status_code}")


def _wait(headers: Any) -> float:
    given = str(headers.get("Retry-After", "")) if headers else ""
    return min(float(given), _LONGEST_WAIT) if given.isdecimal() else 5.0
