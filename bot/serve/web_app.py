"""The web application: wires the routes to a service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI

from bot.github.hook import HookOptions, github_router
from bot.runtime.resources import Service
from bot.runtime.worker_supervisor import WorkerProcess
from bot.serve.health import health_router


def make_app(
    service: Service, routers: Sequence[APIRouter] = (), worker: WorkerProcess | None = None
) -> FastAPI:
    """The application over an open service; `routers` add further surfaces (Slack, the maintainers' page).

    `worker` runs as long as the application does.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if worker is None:
            yield
            return
        async with worker.running():
            yield

    settings = service.settings
    app = FastAPI(title="distriage", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    options = HookOptions(
        secrets=settings.webhook_secrets,
        keep_text=bool(settings.missing_github_app),
        edit_delay=settings.edit_delay,
        comment_delay=settings.comment_delay,
    )
    app.include_router(github_router(options, service.accept, service.metrics))
    app.include_router(health_router(service, worker))
    for router in routers:
        app.include_router(router)
    return app
