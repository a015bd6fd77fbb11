"""One delivery, from the job to its end: done, superseded, later, or dead. Runs in a worker's thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

import structlog

from bot.db.connect import SyncPool
from bot.db.deliveries import Deliveries, StoredDelivery
from bot.jobs.retry import MAX_ATTEMPTS, Again, TryLater, backoff, describe, where
from bot.ports import CoreDown

log = structlog.get_logger(__name__)

LOCK_WAIT = 2.0
"""Seconds until the next try when another job of the issue runs."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a delivery ended for good, in words for metrics and lists; never text of a report."""

    outcome: str
    reason: str
    detail: tuple[str, ...] = ()
    """Rules that a refused write broke."""


Handler = Callable[[StoredDelivery], Ended]
"""Does a delivery's work; raises `TryLater` to be called again. Twice the same call must do no harm."""


class Runner:
    """Runs deliveries with the handler of their source ("github", "slack")."""

    def __init__(
        self,
        pool: SyncPool,
        handlers: Mapping[str, Handler],
        *,
        observe: Callable[[str, float], None] = lambda outcome, seconds: None,
        wait: Callable[[int], float] = backoff,
    ) -> None:
        self._pool = pool
        self._deliveries = Deliveries(pool)
        self._handlers = handlers
        self._observe = observe
        self._wait = wait

    def run(self, delivery_id: str) -> None:
        """Do the delivery's work; returns when it has ended, raises `Again` when it has to run once more."""
        lock = self._deliveries.lock(delivery_id)
        if lock is None:
            return
        with structlog.contextvars.bound_contextvars(delivery=delivery_id), self._exclusive(lock):
            if self._deliveries.supersede(delivery_id):
                self._observe("superseded", 0.0)
                return
            delivery = self._deliveries.begin(delivery_id)
            if delivery is None:
                return
            if delivery.attempts > MAX_ATTEMPTS:
                # The runs before this one never came back: it kills its workers.
                self._give_up(delivery, delivery.error or f"the worker died {MAX_ATTEMPTS} times over it")
                return
            about = {"subject": delivery.subject} if delivery.subject else {}
            with structlog.contextvars.bound_contextvars(**about):
                self._attempt(delivery)

    def _attempt(self, delivery: StoredDelivery) -> None:
        start = time.perf_counter()
        try:
            ended = self._handlers[delivery.source](delivery)
        except TryLater as error:
            self._put_off(delivery, error)
        except CoreDown as error:
            self._put_off(delivery, TryLater(str(error), after=0.0, growing=True))
        except Exception as error:  # noqa: BLE001 - the worker's edge: whatever a delivery does, the next one runs
            if delivery.attempts >= MAX_ATTEMPTS:
                self._give_up(delivery, describe(error))
                return
            self._deliveries.note_error(delivery.id, describe(error), dead=False)
            log.warning(
                "delivery failed", error=type(error).__name__, where=where(error), attempts=delivery.attempts
            )
            raise Again(self._wait(delivery.attempts)) from None
        self._deliveries.finish(delivery.id, ended.outcome, ended.reason, ended.detail)
        self._observe(ended.outcome, time.perf_counter() - start)
        more = {"detail": ended.detail} if ended.detail else {}
        log.info("delivery done", outcome=ended.outcome, reason=ended.reason, **more)

    def _put_off(self, delivery: StoredDelivery, later: TryLater) -> NoReturn:
        self._deliveries.put_off(delivery.id)
        waits = delivery.waits + 1
        after = max(later.after, self._wait(waits)) if later.growing else later.after
        log.info("delivery waits", after=round(after, 1), attempts=delivery.attempts, waits=waits)
        raise Again(after) from None

    def _give_up(self, delivery: StoredDelivery, error: str) -> None:
        self._deliveries.note_error(delivery.id, error, dead=True)
        self._observe("dead", 0.0)
        log.error("delivery dead", attempts=delivery.attempts, event_name=delivery.event)

    @contextmanager
    def _exclusive(self, lock: str) -> Iterator[None]:
        """Hold the issue in the database.

        The queue runs one job of a lock at a time, but a job that is run again has left that lock, and a worker
        believed dead may only have stopped (paused machine). Whoever works holds this, and loses it the moment
        its connection ends.
        """
        with self._pool.connection() as connection:
            row = connection.execute(
                "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (lock,)
            ).fetchone()
            if row != (True,):
                raise Again(LOCK_WAIT, steps_aside=False)
            try:
                yield
            finally:
                connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (lock,))
