"""The child's side of `bot serve`: the worker in a process of its own, talking to the web process through a pipe."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import BinaryIO

import structlog

from bot.runtime.logs import configure_logs
from bot.runtime.resources import Service, Work
from bot.serve.processes import load_factory, run_worker_process
from bot.settings import load_service_settings
from knowledge.errors import UserError

log = structlog.get_logger(__name__)

NICENESS = 3


async def attend(service: Service, todo: Work, stop: Callable[[], object], out: BinaryIO) -> None:
    """In the worker: answer the web process's questions; call `stop` when its end of the pipe is closed."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb", buffering=0)
    )
    with suppress(BrokenPipeError):
        while line := await reader.readline():
            metrics = service.metrics.work_page().decode()
            answer = {"to": int(line), "core": todo.state(), "metrics": metrics}
            out.write(json.dumps(answer).encode() + b"\n")
            out.flush()
    stop()


def main(factory: str) -> int:
    """The worker process; the exit status."""
    # Ctrl-C and a supervisor's SIGTERM reach the whole group; the web process ends this one when it is time.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.nice(NICENESS)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not stand between the answers
    settings = load_service_settings()
    configure_logs(settings.log_level)
    try:
        run_worker_process(settings, load_factory(factory), attend=partial(attend, out=out))
    except UserError as error:
        log.error("worker cannot start", error=error.message, remedy=error.remedy)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
