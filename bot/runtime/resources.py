"""The open resources of one process (pools, queue, metrics), and the worker over them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from procrastinate import App

from bot.db.connect import AsyncPool, SyncPool, async_pool, sync_pool
from bot.db.deliveries import Deliveries
from bot.jobs.queue import (
    Accepted,
    Chore,
    NewDelivery,
    WorkerOptions,
    accept,
    lost_jobs,
    make_queue,
    run_worker,
)
from bot.jobs.runner import Handler, Runner, backoff
from bot.runtime.metrics import DatabaseCollector, Metrics, read_figures
from bot.runtime.triage_pool import CoreState
from bot.settings import Settings

KEEP_DAYS = 30
"""How long deliveries that ended well are kept."""


@dataclass
class Service:
    """The open resources of one process."""

    settings: Settings
    url: str
    threads: SyncPool
    pool: AsyncPool
    queue: App
    metrics: Metrics

    async def accept(self, new: NewDelivery) -> Accepted:
        """Store and queue a delivery."""
        return await accept(self.pool, self.queue, new)


@dataclass(frozen=True)
class Work:
    """What a worker does: the handler of each source of deliveries, and the chores by name."""

    handlers: Mapping[str, Handler]
    chores: Mapping[str, Chore] = field(default_factory=dict)
    wait: Callable[[int], float] = backoff
    state: Callable[[], CoreState] = lambda: "ready"
    """Whether the engine has loaded."""
    close: Callable[[], None] = lambda: None
    """Ends what works for it in processes of their own."""


@asynccontextmanager
async def open_service(settings: Settings, url: str) -> AsyncIterator[Service]:
    """Open pools and queue on a migrated database; closed at the end."""
    metrics = Metrics()
    pool = async_pool(url, size=8 + settings.worker_concurrency)
    threads = sync_pool(url, size=4 + 3 * settings.worker_concurrency)
    queue = make_queue()
    await pool.open(wait=True)
    threads.open(wait=True)
    metrics.registry.register(DatabaseCollector(lambda: read_figures(threads)))
    try:
        async with queue.open_async(pool):
            yield Service(settings, url, threads, pool, queue, metrics)
    finally:
        await asyncio.to_thread(threads.close)
        await pool.close()


async def work(service: Service, work: Work, options: WorkerOptions) -> None:
    """Be a worker until cancelled."""
    runner = Runner(service.threads, work.handlers, observe=service.metrics.delivery, wait=work.wait)
    chores = {"tidy": lambda: _tidy(service), **work.chores}
    await run_worker(service.queue, service.pool, runner, chores, options)


@asynccontextmanager
async def working(service: Service, todo: Work, options: WorkerOptions) -> AsyncIterator[None]:
    """A worker beside the block; at its end running jobs are finished or handed back."""
    task = asyncio.create_task(work(service, todo, options), name="worker")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _tidy(service: Service) -> None:
    await asyncio.to_thread(Deliveries(service.threads).forget, KEEP_DAYS)
    await lost_jobs(service.pool, service.queue)
