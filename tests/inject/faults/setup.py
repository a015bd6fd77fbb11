"""Faults while ranks find each other."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from job import WAIT, Job, run
from torch.distributed.device_mesh import init_device_mesh


def joins(job: Job) -> None:
    """Nothing wrong in the script; the launch is."""
    job.connect()
    job.train()


def too_large_world(job: Job) -> None:
    address = f"tcp://127.0.0.1:{os.environ['MASTER_PORT']}"
    dist.init_process_group(
        "gloo", init_method=address, rank=job.rank, world_size=job.world + 1, timeout=WAIT
    )


def stale_world_size(job: Job) -> None:
    os.environ["WORLD_SIZE"] = str(job.world + 2)
    _without_agent()
    dist.init_process_group("gloo", timeout=WAIT)


def _without_agent() -> None:
    """Rank 0 serves the store itself, as without torchrun, on a port of its own."""
    os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "False"
    os.environ["MASTER_PORT"] = str(int(os.environ["MASTER_PORT"]) + 1)


def no_address(job: Job) -> None:
    del os.environ["MASTER_ADDR"]
    job.connect()


def unknown_host(job: Job) -> None:
    os.environ["MASTER_ADDR"] = "train-head-0.invalid"
    _without_agent()
    job.connect()


def closed_port(job: Job) -> None:
    _without_agent()
    if job.rank:
        os.environ["MASTER_PORT"] = "9"
    job.connect()


def wrong_interface(job: Job) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "ib7"
    job.connect()


def rank_past_world(job: Job) -> None:
    dist.init_process_group(
        "gloo", rank=job.rank + 1, world_size=job.world, timeout=WAIT, init_method="env://"
    )


def nccl_without_gpu(job: Job) -> None:
    dist.init_process_group("nccl", timeout=WAIT)
    torch.cuda.set_device(job.rank)


def mpi_back_end(job: Job) -> None:
    dist.init_process_group("mpi", timeout=WAIT)


def joined_twice(job: Job) -> None:
    job.connect()
    job.connect()


def not_joined(job: Job) -> None:
    if dist.get_rank() == 0:
        job.train()


def mesh_too_large(job: Job) -> None:
    job.connect()
    init_device_mesh("cpu", (2, job.world), mesh_dim_names=("dp", "tp"))


def two_masters(job: Job) -> None:
    """Each rank takes itself for the first one, and serves the store on the same port."""
    _without_agent()
    os.environ["RANK"] = "0"
    dist.init_process_group("gloo", timeout=WAIT, init_method="env://")


if __name__ == "__main__":
    run(
        {
            f.__name__: f
            for f in (
                joins,
                too_large_world,
                stale_world_size,
                no_address,
                unknown_host,
                closed_port,
                wrong_interface,
                rank_past_world,
                nccl_without_gpu,
                mpi_back_end,
                joined_twice,
                not_joined,
                mesh_too_large,
                two_masters,
            )
        }
    )
