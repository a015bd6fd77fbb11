"""What `bot serve` and `bot worker` run: the event loop, signals, and the order of starting and stopping."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable
from functools import partial

import prometheus_client
import structlog
import uvicorn

from bot.db.connect import migrated_database
from bot.jobs.worker import WorkerOptions
from bot.service import Service, Work, open_service, work, working
from bot.settings import Settings
from bot.web.app import make_app
from bot.web.surfaces import surfaces

log = structlog.get_logger(__name__)

MakeWork = Callable[[Service], Work]


def serve(settings: Settings, host: str, port: int, make_work: MakeWork | None) -> None:
    """Answer until a signal comes; with `make_work` also be a worker, in the same process."""
    with migrated_database(settings) as url:
        asyncio.run(_serve(settings, url, host, port, make_work))


async def _serve(settings: Settings, url: str, host: str, port: int, make_work: MakeWork | None) -> None:
    async with open_service(settings, url) as service:
        beside = None
        if make_work is not None:
            todo = await asyncio.to_thread(make_work, service)
            options = WorkerOptions(concurrency=settings.worker_concurrency)
            beside = partial(working, service, todo, options)
        app = make_app(service, surfaces(service), beside)
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=10,
        )
        # uvicorn raises the signal once more when it is done; what is left to close still needs its time.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        # What is loaded by now stays; looking through it again and again would hold up webhooks.
        gc.collect()
        gc.freeze()
        log.info("serving", host=host, port=port, worker=make_work is not None)
        await uvicorn.Server(config).serve()


def run_worker_process(
    settings: Settings,
    make_work: MakeWork,
    metrics_port: int | None = None,
    options: WorkerOptions | None = None,
) -> None:
    """Be a worker until a signal comes; then finish or hand back what is running."""
    options = options or WorkerOptions(concurrency=settings.worker_concurrency)
    with migrated_database(settings) as url:
        asyncio.run(_worker(settings, url, make_work, metrics_port, options))


async def _worker(
    settings: Settings, url: str, make_work: MakeWork, metrics_port: int | None, options: WorkerOptions
) -> None:
    async with open_service(settings, url) as service:
        if metrics_port is not None:
            prometheus_client.start_http_server(metrics_port, registry=service.metrics.registry)
        todo = await asyncio.to_thread(make_work, service)
        running = asyncio.create_task(work(service, todo, options), name="worker")
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, running.cancel)
        log.info("working", concurrency=options.concurrency)
        await asyncio.gather(running, return_exceptions=True)
        if not running.cancelled() and (error := running.exception()) is not None:
            raise error
