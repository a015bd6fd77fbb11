"""The worker of `bot serve`: a process of its own beside the web process, started, watched and ended by it.

In one process the worker's threads kept the interpreter from the event loop: at 200 webhooks a second the
slowest hundredth waited several times as long as with the web process alone. The pipe between the two carries
one JSON line each way when the web process asks how the worker does; its end tells the worker to stop, so it
also stops when the web process was killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Literal

import structlog

from bot.runtime.triage_pool import CoreState

log = structlog.get_logger(__name__)

ANSWER_SECONDS = 0.5
STOP_SECONDS = 30.0
"""How long it may take to finish or hand back its jobs, which itself has 20 s for."""
_LINE_LIMIT = 4 * 1024 * 1024
_LONGEST_PAUSE = 30.0
_LASTED = 60.0

State = CoreState | Literal["starting"]


@dataclass(frozen=True, slots=True)
class Answer:
    """How the worker does: the state of its engine, and its metrics as text for Prometheus."""

    core: State
    metrics: str


NO_ANSWER = Answer("starting", "")
"""While it starts, is started again, or is too busy to answer in time."""


class WorkerProcess:
    """A worker whose work `factory` ("module:function" of a `Service`) makes, on the database `url`."""

    def __init__(self, factory: str, url: str, pause: float = 1.0) -> None:
        self._factory = factory
        self._url = url
        self._pause = pause
        self._asking = asyncio.Lock()
        self._asked = 0
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """The process's id while it runs."""
        return self._process.pid if self._process is not None else None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The worker beside the block, started again when it dies; at the end it finishes or hands back jobs."""
        watch = asyncio.create_task(self._keep_running(), name="worker-process")
        try:
            yield
        finally:
            watch.cancel()
            with suppress(asyncio.CancelledError):
                await watch
            await self._stop()

    async def ask(self) -> Answer:
        """How it does; `NO_ANSWER` when it does not say so in time."""
        async with self._asking:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    return await self._exchange()
            except (TimeoutError, OSError, ValueError):
                return NO_ANSWER

    async def _exchange(self) -> Answer:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return NO_ANSWER
        self._asked += 1
        process.stdin.write(b"%d\n" % self._asked)
        await process.stdin.drain()
        while line := await process.stdout.readline():
            answer = json.loads(line)
            # An answer that came too late for an earlier question is passed over.
            if answer["to"] == self._asked:
                return Answer(answer["core"], answer["metrics"])
        return NO_ANSWER

    async def _keep_running(self) -> None:
        pause = self._pause
        while True:
            started = time.monotonic()
            code = await self._run()
            pause = self._pause if time.monotonic() - started > _LASTED else min(2 * pause, _LONGEST_PAUSE)
            log.error("worker process ended", code=code, again_in=pause)
            await asyncio.sleep(pause)

    async def _run(self) -> int | None:
        """Start the process and wait for its end; its exit status, None when it could not be started."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "bot.serve.worker_process",
                self._factory,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                # Ctrl-C is for the web process, which ends this one.
                process_group=0,
                limit=_LINE_LIMIT,
                env=os.environ | {"DISTRIAGE_DATABASE_URL": self._url},
            )
        except OSError as error:
            log.error("worker process not started", error=type(error).__name__)
            return None
        return await self._process.wait()

    async def _stop(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            log.error("worker process killed", after=STOP_SECONDS)
            process.kill()
            await process.wait()
