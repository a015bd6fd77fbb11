"""The web application: wires the routes to a service; /healthz, /readyz and /metrics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import psycopg
from fastapi import APIRouter, FastAPI
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from bot.api.routes import PREFIX
from bot.db.connect import pending
from bot.github.routes import HookOptions, github_router
from bot.runtime.resources import Service
from bot.runtime.worker_supervisor import WorkerProcess

# /healthz, /readyz and /metrics.


def health_router(service: Service, worker: WorkerProcess | None = None) -> APIRouter:
    """The routes for supervisors and Prometheus; `worker` is the one beside this process, if any."""
    router = APIRouter()

    @router.get("/healthz")
    async def healthz() -> dict[str, str]:
        """The process answers; nothing more is asked of it."""
        return {"status": "ok"}

    @router.get("/readyz")
    async def readyz() -> JSONResponse:
        """200 when deliveries can be taken; `missing` names what keeps the service in shadow.

        `engine`: whether the worker beside can triage yet. Deliveries wait for it in the queue, so it does not
        count for being ready; "elsewhere" with --web-only.
        """
        report = await readiness(service)
        report["engine"] = "elsewhere" if worker is None else (await worker.ask()).core
        return JSONResponse(report, status_code=200 if report["ready"] else 503)

    return router


def metrics_router(service: Service, worker: WorkerProcess | None = None) -> APIRouter:
    """The route for Prometheus; `worker` is the one beside this process, if any."""
    router = APIRouter()

    @router.get("/metrics")
    async def metrics() -> Response:
        page = await asyncio.to_thread(service.metrics.page)
        work = "" if worker is None else (await worker.ask()).metrics
        return Response(page + work.encode(), media_type=CONTENT_TYPE_LATEST)

    return router


async def readiness(service: Service) -> dict[str, Any]:
    """Whether database and schema are there, which mode the service is in, and which settings it lacks."""
    missing = service.settings.missing_github
    problems = []
    try:
        behind = await asyncio.to_thread(pending, service.url)
        if behind:
            problems.append("the database schema is out of date: run `bot db upgrade`")
    except psycopg.Error:
        problems.append("the database does not answer")
    return {
        "ready": not problems,
        "mode": "shadow" if service.settings.missing_github_app else "live",
        "missing": missing,
        "problems": problems,
    }


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
