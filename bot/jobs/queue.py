"""The procrastinate application: its tasks, the transaction that stores a delivery, the worker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import psycopg
import structlog
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.exceptions import ConnectorException

from bot.db.connect import AsyncPool, SyncPool, clean_json, clean_text
from bot.db.deliveries import subject_of
from bot.jobs.runner import QueueRetry, Runner

DELIVERY_TASK = "delivery"
QUEUE = "deliveries"
RUNNER = "runner"
CHORES = "chores"

Accepted = Literal["queued", "waiting", "finished"]
"""queued: new, or dead and tried again; waiting: known and not done yet; finished: nothing to do."""


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """What a webhook hands over; `payload` holds no unredacted text.

    Deliveries of one `lock` run one by one; of those waiting with one `coalesce_key` only the newest runs.
    """

    id: str
    source: str
    event: str
    action: str | None
    lock: str
    coalesce_key: str | None
    payload: dict[str, Any]
    delay: float = 0.0
    """Seconds to wait before the work, so that a burst arrives whole. Commands do not wait behind it: a job that is
    put off is outside of the queue's lock, and the runner's lock keeps two of an issue apart."""
    background: bool = False
    """Whether everything else that waits runs first."""

    @property
    def subject(self) -> str:
        """See `subject_of`."""
        return subject_of(self.payload)


def make_queue() -> App:
    """The application with its tasks; open it with `open_async(pool)`."""
    app = App(connector=PsycopgConnector())

    @app.task(name=DELIVERY_TASK, queue=QUEUE, pass_context=True, retry=QueueRetry())
    async def deliver(context: JobContext, delivery_id: str) -> None:
        runner: Runner = context.additional_context[RUNNER]
        await asyncio.to_thread(runner.run, delivery_id)

    @app.periodic(cron="*/10 * * * *")
    @app.task(name="sweep", queue=QUEUE, queueing_lock="sweep", lock="sweep", pass_context=True)
    async def sweep(context: JobContext, timestamp: int) -> None:
        await _chore(context, "sweep")

    @app.periodic(cron="17 * * * *")
    @app.task(name="tidy", queue=QUEUE, queueing_lock="tidy", lock="tidy", pass_context=True)
    async def tidy(context: JobContext, timestamp: int) -> None:
        await _chore(context, "tidy")

    @app.periodic(cron="37 * * * *")
    @app.task(name="reactions", queue=QUEUE, queueing_lock="reactions", lock="reactions", pass_context=True)
    async def reactions(context: JobContext, timestamp: int) -> None:
        await _chore(context, "reactions")

    @app.periodic(cron="52 * * * *")
    @app.task(name="learn", queue=QUEUE, queueing_lock="learn", lock="learn", pass_context=True)
    async def learn(context: JobContext, timestamp: int) -> None:
        await _chore(context, "learn")

    @app.periodic(cron="*/5 * * * *")
    @app.task(name="waves", queue=QUEUE, queueing_lock="waves", lock="waves", pass_context=True)
    async def waves(context: JobContext, timestamp: int) -> None:
        await _chore(context, "waves")

    return app


async def _chore(context: JobContext, name: str) -> None:
    chores: dict[str, Callable[[], Any]] = context.additional_context[CHORES]
    if name in chores:
        await chores[name]()


_ACCEPT = """
WITH stored AS (
  INSERT INTO deliveries (id, source, event, action, lock, coalesce_key, payload)
  VALUES (%(id)s, %(source)s, %(event)s, %(action)s, %(lock)s, %(coalesce_key)s, %(payload)s)
  ON CONFLICT (id) DO UPDATE SET state = 'queued', attempts = 0, finished_at = NULL
    WHERE deliveries.state = 'dead'
  RETURNING id, lock
)
SELECT procrastinate_defer_jobs_v1(ARRAY[ROW(%(queue)s, %(task)s, %(priority)s,
  CASE WHEN %(delay)s > 0 THEN 'waiting:' || id ELSE lock END, NULL, jsonb_build_object('delivery_id', id),
  CASE WHEN %(delay)s > 0 THEN now() + make_interval(secs => %(delay)s) END)::procrastinate_job_to_defer_v1])
FROM stored
"""
"""One statement, so one round trip: through `defer_async` it took four, and 0.6 ms more of the web process."""


async def accept(pool: AsyncPool, queue: App, new: NewDelivery) -> Accepted:
    """Store the delivery and queue its job in one transaction; a known one gets no second job."""
    async with pool.connection() as connection:
        cursor = await connection.execute(_ACCEPT, _values(new))
        if await cursor.fetchone() is not None:
            return "queued"
        return await _known(connection, new.id)


def accept_now(pool: SyncPool, new: NewDelivery) -> None:
    """The same from a worker's thread."""
    with pool.connection() as connection:
        connection.execute(_ACCEPT, _values(new))


def _values(new: NewDelivery) -> dict[str, Any]:
    return {
        "id": clean_text(new.id),
        "source": new.source,
        "event": clean_text(new.event),
        "action": clean_text(new.action) if new.action is not None else None,
        "lock": clean_text(new.lock),
        "coalesce_key": clean_text(new.coalesce_key) if new.coalesce_key is not None else None,
        "payload": clean_json(new.payload),
        "queue": QUEUE,
        "task": DELIVERY_TASK,
        "delay": float(new.delay),
        "priority": -1 if new.background else 0,
    }


async def queue_job(queue: App, connection: Any, delivery_id: str, lock: str, delay: float = 0.0) -> None:
    """Defer the delivery's job on `connection`, inside its transaction."""
    task = queue.configure_task(
        DELIVERY_TASK,
        queue=QUEUE,
        lock=lock,
        schedule_in={"seconds": delay} if delay else None,
        connection=connection,
    )
    await task.defer_async(delivery_id=delivery_id)


async def requeue(pool: AsyncPool, queue: App, delivery_id: str) -> bool:
    """Queue a dead delivery again; False when it is unknown or not dead."""
    async with pool.connection() as connection, connection.transaction():
        cursor = await connection.execute(
            "UPDATE deliveries SET state = 'queued', attempts = 0, waits = 0, finished_at = NULL"
            " WHERE id = %s AND state = 'dead' RETURNING lock",
            (delivery_id,),
        )
        row = await cursor.fetchone()
        if row is None:
            return False
        await queue_job(queue, connection, delivery_id, str(row[0]))
        return True


async def _known(connection: Any, delivery_id: str) -> Accepted:
    cursor = await connection.execute("SELECT state FROM deliveries WHERE id = %s", (delivery_id,))
    row = await cursor.fetchone()
    return "waiting" if row == ("queued",) else "finished"


async def lost_jobs(pool: AsyncPool, queue: App) -> int:
    """Give a new job to deliveries that wait without one (a purged queue, a restored backup)."""
    async with pool.connection() as connection, connection.transaction():
        cursor = await connection.execute(
            "SELECT id, lock FROM deliveries WHERE state = 'queued'"
            " AND received_at < now() - interval '5 minutes'"
            " AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs AS job WHERE job.status IN ('todo', 'doing')"
            " AND job.args ->> 'delivery_id' = deliveries.id) FOR UPDATE SKIP LOCKED"
        )
        rows = await cursor.fetchall()
        for delivery_id, lock in rows:
            await queue_job(queue, connection, str(delivery_id), str(lock))
        return len(rows)


# The worker: runs jobs until cancelled, survives the database's restarts, rescues dead workers' jobs.

log = structlog.get_logger(__name__)

Chore = Callable[[], Awaitable[Any]]

_LOST_AFTER = 15 * 60
"""Seconds after which a running delivery counts as lost although its worker lives; chores may take longer."""


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
    """Put back the jobs of dead workers, and deliveries running for ever; returns how many."""
    jobs = {
        job.id
        for job in await queue.job_manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=stalled)
    }
    async with pool.connection() as connection:
        cursor = await connection.execute(
            "SELECT job.id FROM procrastinate_jobs AS job"
            " JOIN procrastinate_events AS event ON event.job_id = job.id"
            " WHERE job.status = 'doing' AND job.task_name = %s AND event.type = 'started'"
            " GROUP BY job.id HAVING max(event.at) < now() - make_interval(secs => %s)",
            (DELIVERY_TASK, _LOST_AFTER),
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
