"""`/d/<token>.sh`: the diagnostics script of an issue's newest triage, for whoever has the comment's link."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Self

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response
from itsdangerous import BadData, URLSafeSerializer

from bot.github.records import IssueRef, RepoRef
from bot.github.store.postgres import PostgresStore
from bot.runtime.generated_secret import admin_secret
from bot.runtime.resources import Service
from bot.settings import Settings

_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def script_router(service: Service, links: ScriptLinks) -> APIRouter:
    """The route; an unknown token and a triage without a script both answer 404."""
    router = APIRouter()
    store = PostgresStore(service.threads)

    @router.get("/d/{token}.sh")
    async def script(token: str) -> Response:
        found = links.issue(token)
        if found is None:
            return PlainTextResponse("There is no such script.\n", 404, headers=_HEADERS)
        ref = IssueRef(0, RepoRef(found[0], ""), found[1])
        record = await asyncio.to_thread(store.last_triage, ref)
        if record is None or not record.triage.script:
            return PlainTextResponse("There is no script for this report.\n", 404, headers=_HEADERS)
        return PlainTextResponse(record.triage.script, headers=_HEADERS)

    return router


@dataclass(frozen=True, slots=True)
class ScriptLinks:
    """Makes and reads unguessable addresses; `public_url` is None where no public address is configured."""

    secret: str
    public_url: str | None

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """By the settings; the secret is that of the maintainers' page."""
        configured = "public_url" in settings.model_fields_set
        return cls(admin_secret(settings), settings.public_url.rstrip("/") if configured else None)

    def link(self, issue: IssueRef) -> str | None:
        """The address of the script of an issue's newest triage; None without a public address."""
        if self.public_url is None:
            return None
        return f"{self.public_url}/d/{self.token(issue.repo.id, issue.number)}.sh"

    def token(self, repo_id: int, number: int) -> str:
        """What stands for an issue in an address."""
        return self._signer().dumps([repo_id, number])

    def issue(self, token: str) -> tuple[int, int] | None:
        """The repository's id and the issue's number; None for a token that is not ours."""
        try:
            repo_id, number = self._signer().loads(token)
        except (BadData, ValueError, TypeError):
            return None
        return int(repo_id), int(number)

    def _signer(self) -> URLSafeSerializer:
        return URLSafeSerializer(self.secret, salt="distriage.script")
