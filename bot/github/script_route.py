"""`/d/<token>.sh`: the diagnostics script of an issue's newest triage, for whoever has the comment's link."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response

from bot.github.posting import ScriptLinks
from bot.github.records import IssueRef, RepoRef
from bot.github.store.postgres import PostgresStore
from bot.runtime.resources import Service

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
