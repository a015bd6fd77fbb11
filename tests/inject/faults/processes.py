"""Ranks that end without an exception, and limits of the machine."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
import tempfile
import time

import numpy as np
import torch
from job import Job, log, run


def _ended(job: Job, end: object) -> None:
    job.connect()
    job.train(2)
    if job.rank == job.world - 1 and callable(end):
        sys.stdout.flush()
        end()
    job.train(200)
    time.sleep(3)


def killed(job: Job) -> None:
    _ended(job, lambda: os.kill(os.getpid(), signal.SIGKILL))


def segfault(job: Job) -> None:
    _ended(job, lambda: ctypes.string_at(0))


def aborted(job: Job) -> None:
    _ended(job, os.abort)


def bus_error(job: Job) -> None:
    def end() -> None:
        with tempfile.TemporaryFile() as file:
            file.truncate(8192)
            view = mmap.mmap(file.fileno(), 8192)
            file.truncate(0)
            view[4096] = 1

    _ended(job, end)


def exit_code(job: Job) -> None:
    _ended(job, lambda: sys.exit(3))


def left_silently(job: Job) -> None:
    _ended(job, lambda: os._exit(7))


def preempted(job: Job) -> None:
    """The launcher gets SIGTERM, as from a scheduler."""
    job.connect()
    job.train(2)
    if job.rank == 0:
        time.sleep(1)
        os.kill(os.getppid(), signal.SIGTERM)
    time.sleep(20)


def host_memory(job: Job) -> None:
    job.connect()
    job.train(2)
    if job.rank == 1:
        log.info("allocating the replay buffer")
        torch.zeros(40_000_000_000)
    job.train(3)


def array_memory(job: Job) -> None:
    job.connect()
    job.train(2)
    if job.rank == 0:
        np.ones((60_000, 90_000), dtype=np.float64)
    job.train(3)


def threads(job: Job) -> None:
    import threading

    job.connect()
    threading.stack_size(512 << 20)
    for _ in range(10_000):
        threading.Thread(target=time.sleep, args=(5,), daemon=True).start()


if __name__ == "__main__":
    run(
        {
            f.__name__: f
            for f in (
                killed,
                segfault,
                aborted,
                bus_error,
                exit_code,
                left_silently,
                preempted,
                host_memory,
                array_memory,
                threads,
            )
        }
    )
