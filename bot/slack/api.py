"""Calls to Slack, with the errors of bot/slack/records.py; nothing is repeated here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

import httpx2
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.webhook import WebhookClient, WebhookResponse

from bot.gate.slack import PassedMessage, PassedView
from bot.jobs.runner import TryLater
from bot.slack.records import Gone, Refused, Unreachable, Unsure

_SPENT = {"expired_url", "used_url", "invalid_url"}
_LONGEST_WAIT = 900.0


@contextmanager
def slack_errors() -> Iterator[None]:
    """Turn what slack-sdk and urllib raise into the errors of bot/slack/records.py, or `TryLater`."""
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
        raise Gone("the response URL has expired")
    raise Refused(f"http_{answer.status_code}")


def _wait(headers: Any) -> float:
    given = str(headers.get("Retry-After", "")) if headers else ""
    return min(float(given), _LONGEST_WAIT) if given.isdecimal() else 5.0


TIMEOUT = 10
_REPLY_HOSTS = {"hooks.slack.com", "hooks.slack-gov.com"}
_FILE_HOSTS = {"files.slack.com", "files.slack-gov.com"}
_NO_UNFURL = {"unfurl_links": False, "unfurl_media": False}


@dataclass(frozen=True, slots=True)
class Identity:
    """What Slack says of a token; `date` is its clock, as HTTP writes it."""

    team: str
    is_bot: bool
    scopes: frozenset[str]
    expires: bool
    date: str | None


class SlackApi:
    """Slack by its Web API and response URLs; `root` is the Web API's address, ending in "/api/"."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._origin = urlsplit(root)[:2]

    def respond(self, url: str, message: PassedMessage | str, **how: Any) -> None:
        """Answer through a response URL; a plain text is ours. Raises `Gone` and the others of the tree."""
        if not self._ours(url, _REPLY_HOSTS):
            raise Gone("the response URL is not Slack's")
        body: dict[str, Any] = {"response_type": "ephemeral", "replace_original": False, **_NO_UNFURL, **how}
        with slack_errors():
            answer = WebhookClient(url, timeout=TIMEOUT, retry_handlers=[]).send_dict(
                {**body, **_content(message)}
            )
        check_response(answer)

    def post(self, token: str, channel: str, message: PassedMessage | str, thread: str | None = None) -> str:
        """Post a message; returns its ts. Raises `Refused` and the others."""
        more = {"thread_ts": thread} if thread else {}
        answer = self._call(
            token, "chat.postMessage", channel=channel, **_NO_UNFURL, **_content(message), **more
        )
        return str(answer["ts"])

    def post_to_one(self, token: str, channel: str, user: str, text: str, thread: str | None = None) -> None:
        """A text of ours in a channel that only one person sees."""
        more = {"thread_ts": thread} if thread else {}
        self._call(token, "chat.postEphemeral", channel=channel, user=user, text=text, **more)

    def change(self, token: str, channel: str, ts: str, message: PassedMessage) -> None:
        """Replace a message of ours."""
        self._call(token, "chat.update", channel=channel, ts=ts, **_content(message))

    def open_view(self, token: str, trigger: str, view: PassedView) -> None:
        """Open a modal, within three seconds of the trigger."""
        self._call(token, "views.open", trigger_id=trigger, view=view.view)

    def private_channel(self, token: str, user: str) -> str:
        """The conversation between the app and a person."""
        return str(self._call(token, "conversations.open", users=user)["channel"]["id"])

    def upload_script(self, token: str, channel: str, script: str, comment: str) -> None:
        """Put a shell snippet into a conversation."""
        with slack_errors():
            self._client(token).files_upload_v2(
                channel=channel,
                content=script,
                filename="diagnose.sh",
                title="diagnose.sh",
                snippet_type="shell",
                initial_comment=comment,
            )

    def file(self, token: str, file_id: str) -> dict[str, Any]:
        """What Slack says of a file."""
        found = self._call(token, "files.info", file=file_id)["file"]
        return found if isinstance(found, dict) else {}

    def download(self, token: str, url: str, each: int) -> Downloaded:
        """Both ends of a file. Raises `Refused` where Slack asks to sign in instead."""
        if not self._ours(url, _FILE_HOSTS):
            raise Refused("file_elsewhere")
        return download(token, url, each, TIMEOUT)

    def exchange(self, client_id: str, secret: str, **grant: str) -> dict[str, Any]:
        """The answer of oauth.v2.access for a grant: a code, or a refresh token."""
        with slack_errors():
            answer = self._client(None).oauth_v2_access(client_id=client_id, client_secret=secret, **grant)
        return answer.data if isinstance(answer.data, dict) else {}

    def identity(self, token: str) -> Identity:
        """Whose token it is and what it may do. https://docs.slack.dev/reference/methods/auth.test"""
        with slack_errors():
            answer = self._client(token).auth_test()
        headers = {name.lower(): str(value) for name, value in answer.headers.items()}
        return Identity(
            team=str(answer.get("team", "")),
            is_bot=bool(answer.get("bot_id")),
            scopes=frozenset(filter(None, headers.get("x-oauth-scopes", "").replace(" ", "").split(","))),
            expires="expires_in" in (answer.data if isinstance(answer.data, dict) else {}),
            date=headers.get("date"),
        )

    def _call(self, token: str, method: str, **values: Any) -> dict[str, Any]:
        with slack_errors():
            if method in {"files.info"}:  # reads take no JSON
                answer = self._client(token).api_call(method, params=values)
            else:
                answer = self._client(token).api_call(method, json=values)
        return answer.data if isinstance(answer.data, dict) else {}

    def _client(self, token: str | None) -> WebClient:
        return WebClient(token, base_url=self._root, timeout=TIMEOUT, retry_handlers=[])

    def _ours(self, url: str, hosts: set[str]) -> bool:
        """Whether an address is Slack's: a call may be signed, and what it names still is only named."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            return False
        known = parts.scheme == "https" and parts.hostname in hosts and port in (None, 443)
        return known or parts[:2] == self._origin


def _content(message: PassedMessage | str) -> dict[str, Any]:
    if isinstance(message, str):
        return {"text": message}
    return {"text": message.text, "blocks": list(message.blocks)}


MOST = 256_000_000
"""Bytes after which reading stops; what came last is taken for the end."""


@dataclass(frozen=True, slots=True)
class Downloaded:
    """The first bytes of a file, and its last where it has more than those; `cut`: some between are left out."""

    head: bytes
    tail: bytes
    cut: bool


def download(token: str, url: str, each: int, timeout: float) -> Downloaded:
    """At most `each` bytes from either end. Raises `Refused` unless Slack gives the file, `Unreachable`."""
    head, tail, total = bytearray(), bytearray(), 0
    headers = {"Authorization": f"Bearer {token}"}
    try:
        with httpx2.stream("GET", url, headers=headers, timeout=timeout, follow_redirects=False) as answer:
            if answer.status_code != HTTPStatus.OK:
                raise Refused("file_not_readable")
            for chunk in answer.iter_bytes():
                room = each - len(head)
                head += chunk[:room]
                tail += chunk[room:]
                total += len(chunk)
                if len(tail) > 2 * each:
                    del tail[:-each]
                if total > MOST:
                    break
    except httpx2.HTTPError as error:
        raise Unreachable(f"the file was not read: {type(error).__name__}") from error
    last = bytes(tail[-each:])
    return Downloaded(bytes(head), last, total > len(head) + len(last))
