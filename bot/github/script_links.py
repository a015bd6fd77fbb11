"""Addresses of an issue's whole diagnostics script, which is far too long for a comment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from itsdangerous import BadData, URLSafeSerializer

from bot.github.records import IssueRef
from bot.runtime.generated_secret import generated_secret
from bot.settings import Settings


@dataclass(frozen=True, slots=True)
class ScriptLinks:
    """Makes and reads unguessable addresses; `public_url` is None where no public address is configured."""

    secret: str
    public_url: str | None

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """By the settings; the secret is that of the maintainers' page."""
        admin = settings.admin_secret
        secret = admin.get_secret_value() if admin else generated_secret(settings.data_dir, "admin")
        configured = "public_url" in settings.model_fields_set
        return cls(secret, settings.public_url.rstrip("/") if configured else None)

    def link(self, issue: IssueRef) -> str | None:
        """The address of the script of an issue's newest triage; None without a public address."""
        if self.public_url is None:
            return None
        return f"{self.public_url}/d/{self.token(issue.repo.id, issue.number)}.sh"

    def token(self, repo_id: int, number: int) -> str:
        """What stands for an issue in an address."""
        token = self._signer().dumps([repo_id, number])
        return token if isinstance(token, str) else token.decode()

    def issue(self, token: str) -> tuple[int, int] | None:
        """The repository's id and the issue's number; None for a token that is not ours."""
        try:
            repo_id, number = self._signer().loads(token)
        except (BadData, ValueError, TypeError):
            return None
        return int(repo_id), int(number)

    def _signer(self) -> URLSafeSerializer:
        return URLSafeSerializer(self.secret, salt="distriage.script")
