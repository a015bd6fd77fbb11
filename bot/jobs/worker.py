"""The worker: runs jobs until cancelled, survives the database's restarts, rescues dead workers' jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
import structlog
from procrastinate import App
from procrastinate.exceptions import ConnectorException

from bot.db.connect import AsyncPool
from bot.jobs.queue import CHORES, QUEUE, RUNNER
from bot.jobs.runner import Runner

log = structlog.get_logger(__name__)

Chore = Callable[[], Awaitable[Any]]

_LOST_AFTER = 15 * 60
"""Seconds after which a running job counts as lost although its worker lives; no delivery takes a minute."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a worker behaves; times in seconds."""

    concurrency: int = 4
    heartbeat: float = 2.0
    stalled: float = 10.0
    """A worker silent for so long is dead, and its jobs run again."""
    poll: float = 1.0
    grace: float = 20.0
    """At shutdown running jobs get so long to finish; afterwards they go back to the queue."""


async def run_worker(
    queue: App, pool: AsyncPool, runner: Runner, chores: Mapping[str, Chore], options: WorkerOptions
) -> None:
    """Work until cancelled; then finish or hand back what is running. `queue` is open."""
    threads = ThreadPoolExecutor(options.concurrency + 4, thread_name_prefix="work")
    asyncio.get_running_loop().set_default_executor(threads)
    rescuer = asyncio.create_task(_rescue_for_ever(queue, pool, options), name="rescuer")
    try:
        while True:
            try:
                await _work(queue, runner, chores, options)
            except (ConnectorException, psycopg.Error) as error:
                log.warning("worker lost the database", error=type(error).__name__)
            # It also ends by itself when its heartbeat or its listener fails.
            await asyncio.sleep(options.poll)
    finally:
        await end(rescuer)


async def end(task: asyncio.Task[None]) -> None:
    """Cancel a task until it has ended: a database call that is just beginning may swallow one cancel."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=0.5)
    await asyncio.gather(task, return_exceptions=True)


async def _work(queue: App, runner: Runner, chores: Mapping[str, Chore], options: WorkerOptions) -> None:
    await queue.run_worker_async(
        queues=[QUEUE],
        concurrency=options.concurrency,
        fetch_job_polling_interval=options.poll,
        shutdown_graceful_timeout=options.grace,
        update_heartbeat_interval=options.heartbeat,
        stalled_worker_timeout=options.stalled,
        delete_jobs="always",
        install_signal_handlers=False,
        additional_context={RUNNER: runner, CHORES: dict(chores)},
    )


async def _rescue_for_ever(queue: App, pool: AsyncPool, options: WorkerOptions) -> None:
    while True:
        try:
            await rescue(queue, pool, options.stalled)
        except (ConnectorException, psycopg.Error) as error:
            log.warning("rescue lost the database", error=type(error).__name__)
        await asyncio.sleep(options.heartbeat)


async def rescue(queue: App, pool: AsyncPool, stalled: float) -> int:
    """Put back the jobs of dead workers, and those running for ever; returns how many."""
    jobs = {
        job.id
        for job in await queue.job_manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=stalled)
    }
    async with pool.connection() as connection:
        cursor = await connection.execute(
            "SELECT job.id FROM procrastinate_jobs AS job"
            " JOIN procrastinate_events AS event ON event.job_id = job.id"
            " WHERE job.status = 'doing' AND job.queue_name = %s AND event.type = 'started'"
            " GROUP BY job.id HAVING max(event.at) < now() - make_interval(secs => %s)",
            (QUEUE, _LOST_AFTER),
        )
        jobs |= {int(str(row[0])) for row in await cursor.fetchall()}
    rescued = 0
    for job_id in jobs - {None}:
        try:
            await queue.job_manager.retry_job_by_id_async(job_id=job_id, retry_at=datetime.now(UTC))  # type: ignore[arg-type]
        except ConnectorException:
            continue  # another rescuer was faster, or it has ended after all
        rescued += 1
    if rescued:
        log.warning("jobs rescued", count=rescued)
    return rescued
