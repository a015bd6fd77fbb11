"""One delivery, from the job to its end: done, superseded, later, or dead. Runs in a worker's thread."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NoReturn

import structlog
from procrastinate import BaseRetryStrategy, RetryDecision
from procrastinate.jobs import Job

from bot.db.connect import SyncPool
from bot.db.deliveries import Deliveries, StoredDelivery
from bot.ports import CoreDown
from knowledge.errors import DistriageError
from knowledge.redaction import redact

# When a delivery runs again, and when it is given up.

MAX_ATTEMPTS = 8
"""Runs that may fail or be cut off by the worker's death before a delivery is dead."""

_FIRST_WAIT = 4.0
_LONGEST_WAIT = 600.0
_ERROR_TEXT = 300


class TryLater(DistriageError):
    """The work cannot be done now, for no fault of its own; run it again in `after` seconds.

    `growing`: somebody else is down, so each next wait is longer, `after` at least. `keeps_place`: later jobs of the
    same lock do not run first.
    """

    def __init__(self, why: str, after: float, growing: bool = False, keeps_place: bool = False) -> None:
        super().__init__(why)
        self.after = after
        self.growing = growing
        self.keeps_place = keeps_place


class Again(DistriageError):
    """Raised to the job queue: put this job back and run it `after` seconds from now.

    `steps_aside`: later jobs of its issue may run first.
    """

    def __init__(self, after: float, steps_aside: bool = True) -> None:
        super().__init__(f"again in {after:.1f} s")
        self.after = after
        self.steps_aside = steps_aside


def backoff(attempts: int) -> float:
    """Seconds to wait after the `attempts`-th failed run: 4, 8, 16, ... at most ten minutes."""
    return float(min(_FIRST_WAIT * 2 ** (max(attempts, 1) - 1), _LONGEST_WAIT))


def describe(error: BaseException) -> str:
    """The error for the dead letter: its type, its message (cut, no secrets), and where it came from."""
    message = redact(str(error)).text
    if len(message) > _ERROR_TEXT:
        message = message[:_ERROR_TEXT] + "..."
    return f"{type(error).__name__}: {message}\n{where(error)}"


def where(error: BaseException) -> str:
    """The innermost frames as "file:line function", one a line; no values, so it may be logged."""
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    return "\n".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames)


class QueueRetry(BaseRetryStrategy):
    """Puts back every job that did not end: when it says so (`Again`), at shutdown, without the database.

    A job that waits to run again leaves its issue's lock: a maintainer's command does not wait behind it. That
    two of an issue still do not run side by side is the runner's lock's matter.
    """

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision:
        """See procrastinate's RetryStrategy; giving up is the table of deliveries' matter, never this."""
        if isinstance(exception, Again):
            at = datetime.now(UTC) + timedelta(seconds=exception.after)
            return RetryDecision(retry_at=at, lock=f"waiting:{job.id}" if exception.steps_aside else None)
        if isinstance(exception, asyncio.CancelledError):
            return RetryDecision(retry_at=datetime.now(UTC))
        return RetryDecision(retry_at=datetime.now(UTC) + timedelta(seconds=backoff(job.attempts + 1)))


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
        raise Again(after, steps_aside=not later.keeps_place) from None

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
