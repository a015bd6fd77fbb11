"""Signing in to the maintainers' page: an expiring signed link becomes a cookie of the same life."""

from __future__ import annotations

import hashlib
import hmac
import time
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode

from itsdangerous import BadData, URLSafeSerializer

from bot.runtime.generated_secret import admin_secret
from bot.settings import Settings

COOKIE = "distriage"


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody signed in: until when (Unix seconds), and for which installation (None: all)."""

    expires: float
    installation: int | None
    nonce: str
    login: str = ""
    """Of who signed in with GitHub; "" for a link, which names nobody."""
    repos: tuple[int, ...] | None = None
    """Ids of the only repositories that may be seen (None: all), those that the person may write to."""


class SignIn:
    """Makes and checks links, cookies and form tokens under one secret."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """By the configured secret, else the one generated in the data folder."""
        return cls(admin_secret(settings))

    def link(self, public_url: str, seconds: float, installation: int | None = None) -> str:
        """A link that signs in for so long."""
        token = self._signer("link").dumps({"e": int(time.time() + seconds), "i": installation})
        return f"{public_url.rstrip('/')}/sign-in?{urlencode({'token': token})}"

    def enter(self, token: str) -> Session | None:
        """The session that a link opens; None when forged or expired."""
        return self._read("link", token)

    def cookie(self, session: Session) -> str:
        """The cookie's value."""
        return self._signer("cookie").dumps({"e": session.expires, "i": session.installation})

    def session(self, cookie: str | None) -> Session | None:
        """The session of a cookie; None when there is none, or forged or expired."""
        return self._read("cookie", cookie) if cookie else None

    def form_token(self, session: Session) -> str:
        """What every form of this session must send along, so that other sites cannot post in its name."""
        return hmac.new(self._secret.encode(), f"form:{session.nonce}".encode(), hashlib.sha256).hexdigest()

    def form_fits(self, session: Session, token: str) -> bool:
        """Whether the form came from our own page."""
        return hmac.compare_digest(self.form_token(session).encode(), token.encode())

    def _signer(self, purpose: str) -> URLSafeSerializer:
        return URLSafeSerializer(self._secret, salt=f"distriage.{purpose}")

    def _read(self, purpose: str, text: str) -> Session | None:
        try:
            value: Any = self._signer(purpose).loads(text)
            session = Session(float(value["e"]), value["i"], text)
        except (BadData, KeyError, TypeError, ValueError):
            return None
        return session if session.expires > time.time() else None
