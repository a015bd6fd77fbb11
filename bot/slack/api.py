"""Calls to Slack, with the errors of bot/slack/errors.py; nothing is repeated here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from slack_sdk import WebClient
from slack_sdk.webhook import WebhookClient

from bot.gate.slack import PassedMessage, PassedView
from bot.slack.api_errors import check_response, slack_errors
from bot.slack.download import Downloaded, download
from bot.slack.errors import Gone, Refused

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
