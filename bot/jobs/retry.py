"""When a delivery runs again, and when it is given up."""

from __future__ import annotations

import asyncio
import traceback
from datetime import UTC, datetime, timedelta

from procrastinate import BaseRetryStrategy, RetryDecision
from procrastinate.jobs import Job

from knowledge.errors import DistriageError
from knowledge.redaction import redact

MAX_ATTEMPTS = 8
"""Runs that may fail or be cut off by the worker's death before a delivery is dead."""

_FIRST_WAIT = 4.0
_LONGEST_WAIT = 600.0
_ERROR_TEXT = 300


class TryLater(DistriageError):
    """The work cannot be done now, for no fault of its own; run it again in `after` seconds.

    `growing`: somebody else is down, so each next wait is longer, `after` at least.
    """

    def __init__(self, why: str, after: float, growing: bool = False) -> None:
        super().__init__(why)
        self.after = after
        self.growing = growing


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
