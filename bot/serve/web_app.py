"""The web application: wires the routes to a service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import APIRouter, FastAPI

from bot.api.routes import PREFIX
from bot.github.hook import HookOptions, github_router
from bot.runtime.resources import Service
from bot.runtime.worker_supervisor import WorkerProcess
from bot.serve.health import health_router, metrics_router


def make_app(
    service: Service,
    routers: Sequence[APIRouter] = (),
    worker: WorkerProcess | None = None,
    api: tuple[FastAPI, Callable[[], None]] | None = None,
) -> FastAPI:
    """The application over an open service; `routers` add further surfaces (Slack, the maintainers' page).

    `worker` runs as long as the application does; `api` is mounted, and its end called with the application's.
    /metrics has its place here unless the settings give it a port of its own.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if api is not None:
                stack.callback(api[1])
            if worker is not None:
                await stack.enter_async_context(worker.running())
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
    if settings.metrics_port is None:
        app.include_router(metrics_router(service, worker))
    for router in routers:
        app.include_router(router)
    if api is not None:
        app.mount(PREFIX, api[0])
    return app


def metrics_app(service: Service, worker: WorkerProcess | None = None) -> FastAPI:
    """The application on the port of the metrics: /metrics and nothing else."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(metrics_router(service, worker))
    return app
