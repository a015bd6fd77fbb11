"""What `bot serve` and `bot worker` run: the event loop, signals, and the order of starting and stopping."""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable

import prometheus_client
import structlog
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.db.connect import migrated_database
from bot.http.body import Connection, backlog
from bot.jobs.queue import WorkerOptions
from bot.runtime.resources import Service, Work, open_service, work
from bot.runtime.worker_supervisor import WorkerProcess
from bot.serve.compose import api_surface, surfaces
from bot.serve.web_app import make_app, metrics_app
from bot.settings import Settings, unknown_settings, unknown_variables
from knowledge.errors import SettingsError

log = structlog.get_logger(__name__)

ALL_WORK = "bot.serve.compose:all_work"
MakeWork = Callable[[Service], Work]
Attend = Callable[[Service, Work, Callable[[], object]], Awaitable[None]]
"""Something that goes on beside a worker and may stop it."""


def load_factory(name: str) -> MakeWork:
    """The function "module:function" that makes a worker's work."""
    module, _, function = name.partition(":")
    make: MakeWork = getattr(importlib.import_module(module), function)
    return make


def serve(settings: Settings, host: str, port: int, factory: str | None) -> None:
    """Answer until a signal comes; with a `factory` of work a worker runs beside, as a process of its own.

    Raises `SettingsError` for what the worker could not start with.
    """
    settings.read_private_key()
    with migrated_database(settings) as url:
        asyncio.run(_serve(settings, url, host, port, factory))


async def _serve(settings: Settings, url: str, host: str, port: int, factory: str | None) -> None:
    async with open_service(settings, url) as service:
        worker = WorkerProcess(factory, url) if factory is not None else None
        app: ASGIApp = make_app(service, surfaces(service), worker, api_surface(service))
        if settings.metrics_port is not None:
            app = by_port(settings.metrics_port, metrics_app(service, worker), app)
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            http=Connection,
            backlog=backlog(),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=10,
        )
        sockets = _bound(config, settings.metrics_port)
        # uvicorn raises the signal once more when it is done; what is left to close still needs its time.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        # What is loaded by now stays; looking through it again and again would hold up webhooks.
        gc.collect()
        gc.freeze()
        if sys.stderr.isatty():
            print(banner(settings, host, port, worker is not None), file=sys.stderr)
        else:
            _log_start(settings, host, port, worker is not None)
        await uvicorn.Server(config).serve(sockets)


def _log_start(settings: Settings, host: str, port: int, worker: bool) -> None:
    log.info(
        "serving",
        host=host,
        port=port,
        worker=worker,
        page=f"{settings.public_url.rstrip('/')}/",
        mode="shadow" if settings.missing_github_app else "live",
        missing=settings.missing_github,
    )
    for name in unknown_variables():
        log.warning("this variable is not a setting and has no effect", variable=name)


def by_port(port: int, there: ASGIApp, elsewhere: ASGIApp) -> ASGIApp:
    """One application for two: `there` answers what arrives at that port, and `elsewhere` the rest."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        arrived = scope.get("server") if scope["type"] == "http" else None
        await (there if arrived and arrived[1] == port else elsewhere)(scope, receive, send)

    return app


def _bound(config: uvicorn.Config, metrics_port: int | None) -> list[socket.socket]:
    """The sockets to listen on. Raises `SettingsError` for an address that cannot be had."""
    sockets = []
    for port in [config.port, *([metrics_port] if metrics_port is not None else [])]:
        family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
        try:
            bound = socket.create_server((config.host, port), family=family, backlog=config.backlog)
            # Inherited by what it accepts. asyncio does so itself only where a socket was made with its protocol
            # named; without it each answer waits 40 ms for an acknowledgement.
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sockets.append(bound)
        except OSError as error:
            # strerror of this exception repeats the address.
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
            raise SettingsError(
                f"Can't listen on {config.host}:{port}: {why[:1].lower()}{why[1:]}.",
                "Choose another --port (or DISTRIAGE_METRICS_PORT), or stop the process that uses it.",
            ) from None
    return sockets


def banner(settings: Settings, host: str, port: int, worker: bool) -> str:
    """What a person at a terminal wants to know of a service that starts."""
    shadow = bool(settings.missing_github_app)
    lines = [
        f"distriage on http://{host}:{port}/  (sign in with: bot admin link)",
        "mode     " + ("shadow: triages are stored, nothing is written to GitHub" if shadow else "live"),
    ]
    if settings.missing_github:
        lines.append(f"missing  {', '.join(settings.missing_github)}")
    lines += [
        f"slack    {'on' if settings.slack_signing_secret else 'off'}",
        f"api      {'on' if settings.api_tokens else 'off'}",
    ]
    if settings.metrics_port is not None:
        lines.append(f"metrics  http://{host}:{settings.metrics_port}/metrics")
    if not worker:
        lines.append("no worker runs here: start one with `bot worker`")
    lines += [f"warning  {said}" for said in unknown_settings()]
    return "\n".join([*lines, "Ctrl-C stops it; `bot doctor` checks everything.", ""])


def run_worker_process(
    settings: Settings,
    make_work: MakeWork,
    metrics_port: int | None = None,
    options: WorkerOptions | None = None,
    attend: Attend | None = None,
) -> None:
    """Be a worker until a signal comes (or `attend` stops it); then finish or hand back what is running."""
    options = options or WorkerOptions(concurrency=settings.worker_concurrency)
    with migrated_database(settings) as url:
        asyncio.run(_worker(settings, url, make_work, metrics_port, options, attend))


async def _worker(
    settings: Settings,
    url: str,
    make_work: MakeWork,
    metrics_port: int | None,
    options: WorkerOptions,
    attend: Attend | None,
) -> None:
    async with open_service(settings, url) as service:
        if metrics_port is not None:
            prometheus_client.start_http_server(metrics_port, registry=service.metrics.work)
        todo = await asyncio.to_thread(make_work, service)
        running = asyncio.create_task(work(service, todo, options), name="worker")
        if attend is None:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, running.cancel)
            beside = None
        else:
            beside = asyncio.ensure_future(attend(service, todo, running.cancel))
        log.info("working", concurrency=options.concurrency)
        await asyncio.gather(running, return_exceptions=True)
        todo.close()
        if beside is not None:
            beside.cancel()
        if not running.cancelled() and (error := running.exception()) is not None:
            raise error
