"""Faults of checkpoints: files that are damaged, of another model, or on another disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from job import Job, log, network, run
from torch import nn


class Tokenizer:
    """What somebody put into a checkpoint beside the weights."""


def place(job: Job) -> Path:
    """Where the job's checkpoint lies."""
    folder = Path(os.environ.get("JOB_FOLDER", "/tmp")) / "checkpoints"
    folder.mkdir(exist_ok=True)
    return folder / "last.pt"


def saved(job: Job, state: Any) -> Path:
    """A checkpoint that rank 0 wrote before."""
    path = place(job)
    if job.rank == 0:
        torch.save(state, path)
    job.connect()
    dist.barrier()
    log.info("resuming from %s", path)
    return path


def truncated(job: Job) -> None:
    path = place(job)
    if job.rank == 0:
        torch.save(network().state_dict(), path)
        path.write_bytes(path.read_bytes()[:1500])
    job.connect()
    dist.barrier()
    network().load_state_dict(torch.load(path))


def empty_file(job: Job) -> None:
    path = place(job)
    if job.rank == 0:
        path.write_bytes(b"")
    job.connect()
    dist.barrier()
    torch.load(path)


def wrapped_keys(job: Job) -> None:
    state = {f"module.{name}": value for name, value in network().state_dict().items()}
    network().load_state_dict(torch.load(saved(job, state)))


def fewer_keys(job: Job) -> None:
    state = dict(list(network().state_dict().items())[:-2])
    network().load_state_dict(torch.load(saved(job, state)))


def other_width(job: Job) -> None:
    state = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)).state_dict()
    network().load_state_dict(torch.load(saved(job, state)))


def other_class(job: Job) -> None:
    torch.load(saved(job, {"model": network().state_dict(), "tokenizer": Tokenizer()}))


def other_optimizer(job: Job) -> None:
    path = saved(job, torch.optim.Adam(nn.Linear(4, 4).parameters()).state_dict())
    torch.optim.Adam([{"params": [p]} for p in network().parameters()]).load_state_dict(torch.load(path))


def on_one_node(job: Job) -> None:
    """Each rank reads its own node's disk, where only rank 0 wrote."""
    job.connect()
    job.train(2)
    path = place(job).with_name(f"node{job.rank}-step2.pt")
    if job.rank == 0:
        torch.save(job.model.state_dict(), path)
    dist.barrier()
    torch.load(path)
    dist.barrier()


def key_of_checkpoint(job: Job) -> None:
    path = saved(job, {"state_dict": network().state_dict(), "step": 4})
    network().load_state_dict(torch.load(path)["model"])


def full_disk(job: Job) -> None:
    job.connect()
    job.train(2)
    if job.rank == 0:
        torch.save({"model": job.model.state_dict(), "buffer": torch.zeros(2_000_000)}, place(job))
        log.info("saved")
    dist.barrier()


if __name__ == "__main__":
    run(
        {
            f.__name__: f
            for f in (
                truncated,
                empty_file,
                wrapped_keys,
                fewer_keys,
                other_width,
                other_class,
                other_optimizer,
                on_one_node,
                key_of_checkpoint,
                full_disk,
            )
        }
    )
