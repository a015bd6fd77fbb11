"""Faults in how ranks talk to each other once they are joined."""

from __future__ import annotations

import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from job import WAIT, Job, log, run


def skipped_all_reduce(job: Job) -> None:
    """The last rank leaves out one collective and ends."""
    job.connect()
    total = torch.ones(4)
    for step in range(4):
        if step == 2 and job.rank == job.world - 1:
            log.info("no metric on this rank, leaving")
            return
        dist.all_reduce(total)


def skipped_and_busy(job: Job) -> None:
    """The last rank leaves out a collective and goes on computing."""
    job.connect()
    if job.rank == job.world - 1:
        time.sleep(2 * WAIT.total_seconds())
    dist.all_reduce(torch.ones(4))


def lonely_barrier(job: Job) -> None:
    job.connect()
    if job.rank == 0:
        log.info("saving, waiting for the others")
        dist.barrier()
    else:
        time.sleep(2 * WAIT.total_seconds())


def monitored_barrier(job: Job) -> None:
    job.connect()
    if job.rank != 1:
        dist.monitored_barrier()
    else:
        time.sleep(2 * WAIT.total_seconds())


def swapped_order(job: Job) -> None:
    job.connect()
    loss, counts = torch.ones(1), torch.ones(128)
    first, second = (loss, counts) if job.rank == 0 else (counts, loss)
    dist.all_reduce(first)
    dist.all_reduce(second)


def other_shape(job: Job) -> None:
    job.connect()
    job.train(1)
    dist.all_reduce(torch.ones(64 if job.rank else 16))


def mismatch_in_detail(job: Job) -> None:
    """As the two above, with TORCH_DISTRIBUTED_DEBUG=DETAIL."""
    job.connect()
    dist.all_reduce(torch.ones(3))
    if job.rank == 0:
        dist.broadcast(torch.ones(5), src=0)
    else:
        dist.all_reduce(torch.ones(5))


def shape_in_detail(job: Job) -> None:
    job.connect()
    dist.all_reduce(torch.ones(3, 4 + job.rank))


def uneven_batches(job: Job) -> None:
    job.connect()
    job.train(3 if job.rank == 0 else 5)


def uneven_and_gone(job: Job) -> None:
    job.connect()
    job.train(6 if job.rank == 0 else 2)
    dist.destroy_process_group()


def wrong_gather_list(job: Job) -> None:
    job.connect()
    out = [torch.zeros(2) for _ in range(job.world + 1)] if job.rank == 0 else None
    dist.gather(torch.ones(2), out, dst=0)


def wrong_source(job: Job) -> None:
    job.connect()
    dist.broadcast(torch.ones(4), src=job.world)


def stopped_rank(job: Job) -> None:
    """One rank is frozen from outside."""
    job.connect()
    job.train(2)
    if job.rank == 1:
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGSTOP)
    job.train(3)


def different_models(job: Job) -> None:
    job.connect()
    layers = 2 + (job.rank == 1)
    job.train(model=torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(layers))))


def different_width(job: Job) -> None:
    job.connect()
    job.train(model=torch.nn.Linear(16, 8 if job.rank else 4))


def raised_in_hook(job: Job) -> None:
    """One rank fails between collectives; the others lose it."""
    job.connect()
    job.train(2)
    if job.rank == 1:
        raise ValueError(f"loss is not finite at step 2: {float('nan')}")
    job.train(3)


def bad_scatter(job: Job) -> None:
    job.connect()
    out = torch.zeros(3)
    dist.scatter_object_list([None], [1] * (job.world - 1) if job.rank == 0 else [None], src=0)
    dist.all_reduce(out)


if __name__ == "__main__":
    run(
        {
            f.__name__: f
            for f in (
                skipped_all_reduce,
                skipped_and_busy,
                lonely_barrier,
                monitored_barrier,
                swapped_order,
                other_shape,
                mismatch_in_detail,
                shape_in_detail,
                uneven_batches,
                uneven_and_gone,
                wrong_gather_list,
                wrong_source,
                stopped_rank,
                different_models,
                different_width,
                raised_in_hook,
                bad_scatter,
            )
        }
    )
