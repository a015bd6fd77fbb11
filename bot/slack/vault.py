"""What must not lie in the database as it is: bot tokens and response URLs, encrypted with Fernet."""

from __future__ import annotations

import base64
from functools import partial
from typing import Self

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from bot.runtime.generated_secret import generated_secret
from bot.settings import Settings
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
                f"DISTRIAGE_SLACK_TOKEN_KEY: a key has fewer than {SHORTEST_KEY} characters.",
                'Make one with: python -c "import secrets; print(secrets.token_urlsafe(32))".',
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
            raise Sealed("a sealed value cannot be opened with DISTRIAGE_SLACK_TOKEN_KEY") from None


def _derived(key: str, purpose: bytes) -> bytes:
    derive = partial(HKDF, algorithm=SHA256(), length=32, salt=None)
    return base64.urlsafe_b64encode(derive(info=purpose).derive(key.encode()))
