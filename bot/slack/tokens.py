"""Where bot tokens come from: one of the settings, or one for each workspace that installed the app.

Tokens of an app with token rotation live for twelve hours and are renewed here, once, whoever needs them.
https://docs.slack.dev/authentication/using-token-rotation
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Self

import structlog
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from bot.jobs.runner import TryLater
from bot.ports import Clock
from bot.runtime.generated_secret import generated_secret
from bot.settings import Settings
from bot.slack.api import SlackApi
from bot.slack.records import Installation, Refused, Unreachable, Unsure
from bot.slack.store import SlackStore
from knowledge.errors import DistriageError, SettingsError

SHORTEST_KEY = 32


class Sealed(DistriageError):
    """Something sealed cannot be opened with the keys at hand."""


class Vault:
    """Seals with the first key, opens with any: a new key is put in front, the old one dropped later."""

    def __init__(self, keys: list[str]) -> None:
        self._fernet = MultiFernet([Fernet(_derived(key, b"distriage slack vault")) for key in keys])
        self.signing_key = _derived(keys[0], b"distriage slack state").decode()
        """Signs the state of an installation under way."""

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """By DISTRIAGE_SLACK_TOKEN_KEY (several: comma-separated), else a key kept in the data folder.

        Raises `SettingsError` for a key that is too short to be a secret.
        """
        if settings.slack_token_key is None:
            return cls([generated_secret(settings.data_dir, "slack-tokens")])
        keys = [key.strip() for key in settings.slack_token_key.get_secret_value().split(",")]
        keys = [key for key in keys if key]
        if not keys or any(len(key) < SHORTEST_KEY for key in keys):
            raise SettingsError(
                f"DISTRIAGE_SLACK_TOKEN_KEY contains a key with fewer than {SHORTEST_KEY} characters.",
                'Generate one with: python -c "import secrets; print(secrets.token_urlsafe(32))".',
            )
        return cls(keys)

    def seal(self, text: str) -> str:
        """The text encrypted and authenticated, as ASCII."""
        return self._fernet.encrypt(text.encode()).decode()

    def open(self, sealed: str) -> str:
        """What was sealed. Raises `Sealed` when it was changed, or sealed with a key that is gone."""
        try:
            return self._fernet.decrypt(sealed.encode()).decode()
        except InvalidToken:
            raise Sealed("a stored token cannot be decrypted with DISTRIAGE_SLACK_TOKEN_KEY") from None


def _derived(key: str, purpose: bytes) -> bytes:
    derive = partial(HKDF, algorithm=SHA256(), length=32, salt=None)
    return base64.urlsafe_b64encode(derive(info=purpose).derive(key.encode()))


log = structlog.get_logger(__name__)

AHEAD = timedelta(hours=2)
"""So long before a token expires it is renewed, so that Slack may be out of reach for a while."""


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """The Slack app's client; `public_url` is where people reach this service."""

    id: str
    secret: str
    public_url: str
    authorize_url: str = "https://slack.com/oauth/v2/authorize"

    @property
    def redirect_uri(self) -> str:
        """Where Slack sends people back to."""
        return f"{self.public_url.rstrip('/')}/slack/oauth_redirect"


class OneToken:
    """The token of the settings, for an app of one workspace."""

    def __init__(self, token: str) -> None:
        self._token = token

    def token(self, workspace: str) -> str | None:
        """The same for every call that Slack signed."""
        return self._token


class InstalledTokens:
    """The tokens of workspaces that installed the app."""

    def __init__(
        self, store: SlackStore, vault: Vault, api: SlackApi, clock: Clock, client: OAuthClient | None
    ) -> None:
        self._store = store
        self._vault = vault
        self._api = api
        self._clock = clock
        self._client = client

    def token(self, workspace: str) -> str | None:
        """See `Tokens`; a token sealed with a key that is gone counts as none, as does one that ran out."""
        found = self._store.installation(workspace)
        if found is not None and self._expires(found, AHEAD):
            found = self._renewed(workspace)
        if found is None:
            return None
        try:
            return self._vault.open(found.sealed_token)
        except Sealed:
            return None

    def _renewed(self, workspace: str) -> Installation | None:
        # A refresh token works once: two processes that used the same would leave one with nothing.
        with self._store.alone_with(workspace):
            found = self._store.installation(workspace)
            if found is None or not self._expires(found, AHEAD):
                return found
            try:
                found = self._renew(found)
            except (Sealed, Refused) as error:
                log.error("token not renewed; the app has to be installed again", why=str(error))
            except (Unreachable, Unsure, TryLater) as error:
                if self._expires(found):
                    raise Unreachable("the token has expired, and Slack gave no new one") from error
            return None if self._expires(found) else found

    def _renew(self, found: Installation) -> Installation:
        if self._client is None or found.sealed_refresh is None:
            raise Refused("no_client" if self._client is None else "no_refresh_token")
        now = self._clock.now()
        answer = self._api.exchange(
            self._client.id,
            self._client.secret,
            grant_type="refresh_token",
            refresh_token=self._vault.open(found.sealed_refresh),
        )
        token = answer.get("access_token")
        if not isinstance(token, str):
            raise Refused("no_token_in_the_answer")
        refresh, expires_at = expiry(answer, self._vault, now)
        renewed = replace(
            found, sealed_token=self._vault.seal(token), sealed_refresh=refresh, expires_at=expires_at
        )
        self._store.install(renewed)
        return renewed

    def _expires(self, found: Installation, within: timedelta = timedelta()) -> bool:
        return found.expires_at is not None and found.expires_at <= self._clock.now() + within


def expiry(answer: Mapping[str, Any], vault: Vault, now: datetime) -> tuple[str | None, datetime | None]:
    """The refresh token (sealed) and the end of the token in an answer of oauth.v2.access; None for one without."""
    seconds, refresh = answer.get("expires_in"), answer.get("refresh_token")
    return (
        vault.seal(refresh) if isinstance(refresh, str) else None,
        now + timedelta(seconds=seconds) if isinstance(seconds, int) else None,
    )


def oauth_client(settings: Settings) -> OAuthClient | None:
    """The client that workspaces install the app with, where the settings have one."""
    if settings.slack_client_id is None or settings.slack_client_secret is None:
        return None
    return OAuthClient(
        settings.slack_client_id, settings.slack_client_secret.get_secret_value(), settings.public_url
    )
