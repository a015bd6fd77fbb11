"""Faults of data sets and their loaders."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import torch
from job import Job, run
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Rows(Dataset[Any]):
    """Rows of numbers; `fault` is called with the index of each row that is read."""

    def __init__(self, count: int = 64, fault: Any = None) -> None:
        self.count, self.fault = count, fault

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if self.fault is not None:
            self.fault(index)
        return torch.full((16,), float(index))


def iterate(job: Job, rows: Rows, **options: Any) -> None:
    """Train on what the loader gives."""
    job.connect()
    job.train(1)
    for batch in DataLoader(rows, batch_size=4, sampler=DistributedSampler(rows), **options):
        job.step(batch)


def missing_field(job: Job) -> None:
    rows = [{"text": "a", "label": 1}] * 40 + [{"text": "b"}] + [{"text": "c", "label": 0}] * 23
    iterate(job, Rows(64, lambda index: rows[index]["label"]))


def missing_field_in_worker(job: Job) -> None:
    rows = [{"text": "a", "label": 1}] * 40 + [{"text": "b"}] + [{"text": "c", "label": 0}] * 23
    iterate(job, Rows(64, lambda index: rows[index]["label"]), num_workers=2)


def bad_number(job: Job) -> None:
    def read(index: int) -> None:
        float("12,5" if index == 21 else "12.5")

    iterate(job, Rows(64, read))


def killed_worker(job: Job) -> None:
    def read(index: int) -> None:
        if index == 20:
            os.kill(os.getpid(), signal.SIGKILL)

    iterate(job, Rows(64, read), num_workers=1)


def worker_left(job: Job) -> None:
    def read(index: int) -> None:
        if index == 20:
            os._exit(1)

    iterate(job, Rows(64, read), num_workers=1)


def slow_worker(job: Job) -> None:
    def read(index: int) -> None:
        if index == 20:
            time.sleep(60)

    iterate(job, Rows(64, read), num_workers=1, timeout=3)


def ragged(job: Job) -> None:
    class Ragged(Rows):
        def __getitem__(self, index: int) -> Any:
            return torch.zeros(16 if index != 30 else 15)

    iterate(job, Ragged())


def empty_shard(job: Job) -> None:
    """Fewer files than ranks: the last rank has none."""
    job.connect()
    files = [f"shard-{i}.bin" for i in range(job.world - 1)][job.rank :: job.world]
    per_file = 1000 // len(files)
    print(per_file)
    job.train(3)


def no_file(job: Job) -> None:
    job.connect()
    job.train(1)
    shard = Path("/tmp/train-data") / f"part-{job.rank:05d}.txt"
    shard.parent.mkdir(exist_ok=True)
    if job.rank != 1:
        shard.write_text("ok")
    print(len(shard.read_text()))
    job.train(2)


def not_divisible(job: Job) -> None:
    job.connect()
    batch = 16 * job.world + 1
    if batch % job.world:
        raise ValueError(f"global batch size {batch} is not divisible by the {job.world} data-parallel ranks")


def empty_set(job: Job) -> None:
    job.connect()
    DataLoader(Rows(0), batch_size=4, shuffle=True)


def many_files(job: Job) -> None:
    """As many files open as the limit allows, and one more."""
    job.connect()
    job.train(1)
    held = [Path(__file__).open() for _ in range(100_000)]
    print(len(held))


def shared_memory(job: Job) -> None:
    class Wide(Rows):
        def __getitem__(self, index: int) -> Any:
            return torch.zeros(600_000)

    job.connect()
    for batch in DataLoader(Wide(64), batch_size=16, num_workers=2):
        print(batch.shape)


if __name__ == "__main__":
    run(
        {
            f.__name__: f
            for f in (
                missing_field,
                missing_field_in_worker,
                bad_number,
                killed_worker,
                worker_left,
                slow_worker,
                ragged,
                empty_shard,
                no_file,
                not_divisible,
                empty_set,
                many_files,
                shared_memory,
            )
        }
    )
