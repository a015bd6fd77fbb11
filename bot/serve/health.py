"""/healthz, /readyz and /metrics."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from bot.db.migrate import pending
from bot.runtime.resources import Service
from bot.runtime.worker_supervisor import WorkerProcess


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
