"""Spawns without the guard that keeps children from spawning in turn."""

import job
import torch.multiprocessing as mp


def work(rank: int) -> None:
    """One rank."""
    job.log.info("rank %d", rank)


mp.spawn(work, nprocs=2)
