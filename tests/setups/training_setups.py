"""Training jobs that hang or break with real torch on the CPU."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.setups.machines import process
from tests.setups.model import PYTHON, Run, ranks, setup
from tests.setups.network_setups import free_port

BUSY_S = 0.5
"""Importing torch alone takes longer than this."""
UNEQUAL = """
import os, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, random_split

def loader():
    rank = int(os.environ["RANK"])
    data = TensorDataset(torch.randn(37, 8), torch.randn(37, 1))
    parts = random_split(data, [24, 13], torch.Generator().manual_seed(0))
    return DataLoader(parts[rank], batch_size=4)

def main():
    dist.init_process_group("gloo")
    local_rank = int(os.environ["LOCAL_RANK"])
    model = DDP(torch.nn.Linear(8, 1))
    for x, y in loader():
        loss = (model(x) - y).square().mean()
        loss.backward()
    print("done", local_rank, flush=True)
    time.sleep(600)

if __name__ == "__main__":
    main()
"""
RANK_BRANCH = """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main():
    dist.init_process_group("gloo")
    local_rank = int(os.environ["LOCAL_RANK"])
    model = DDP(torch.nn.Linear(8, 1))
    if dist.get_rank() == 0:
        print("saving", flush=True)
        dist.barrier()
    model(torch.randn(2, 8)).sum().backward()

if __name__ == "__main__":
    main()
"""
WRAPPED = """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main():
    dist.init_process_group("gloo")
    local_rank = int(os.environ["LOCAL_RANK"])
    model = DDP(torch.nn.Linear(8, 1))
    if local_rank == 0:
        torch.save(model.state_dict(), "checkpoint.pt")
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
"""


def job(stack: ExitStack, folder: Path, script: str, world: int = 2) -> list[Run]:
    """Start the ranks of a real job in the folder; the runs look at it with the job's own variables."""
    (folder / "train.py").write_text(script, encoding="utf-8")
    runs = [Run(run.env, cwd=folder) for run in ranks(world, free_port())]
    children: list[subprocess.Popen[bytes]] = []
    for run in runs:
        options = {
            "cwd": folder,
            "env": run.environment(),
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
        }
        children.append(stack.enter_context(process([PYTHON, "train.py"], **options)))
    settle(children)
    return runs


def settle(children: Sequence[subprocess.Popen[bytes]]) -> None:
    """Wait until every process has ended or, once it was busy, has used no processor for a second: it hangs."""
    until, used = time.monotonic() + 60, [0.0]
    while any(one.poll() is None for one in children):
        before, used = used, [busy_s(one.pid) for one in children if one.poll() is None]
        if before == used and min(used) > BUSY_S:
            return
        assert time.monotonic() < until, "the job neither ends nor hangs"
        time.sleep(1)


def busy_s(pid: int) -> float:
    """Processor seconds that a process has used; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@setup(
    "unequal-batches",
    "two ranks of a real DDP job on Gloo have six and four batches, so one waits for ever",
    "batch_or_partition",
    ["lengths_agree:differ"],
    needs=("torch",),
    real_job=True,
    report="It hangs during training.",
)
def unequal_batches(folder: Path) -> Iterator[list[Run]]:
    with ExitStack() as stack:
        runs = job(stack, folder, UNEQUAL)
        yield [Run(run.env, cwd=folder, arguments=("--loader", "train:loader")) for run in runs]


@setup(
    "collective-on-one-rank",
    "only rank 0 of a real DDP job on Gloo enters a barrier",
    "divergent_ranks",
    ["rank_branches:collective_in_branch"],
    needs=("torch",),
    real_job=True,
    report="It hangs during training.",
)
def collective_on_one_rank(folder: Path) -> Iterator[list[Run]]:
    with ExitStack() as stack:
        yield job(stack, folder, RANK_BRANCH)


@setup(
    "diverged-ranks",
    "the same job, its code out of sight, and py-spy installed",
    "divergent_ranks",
    ["stacks:different_places"],
    needs=("torch", "py-spy"),
    real_job=True,
    report="It hangs during training.",
)
def diverged_ranks(folder: Path) -> Iterator[list[Run]]:
    hidden = folder / "hidden"
    hidden.mkdir()
    with ExitStack() as stack:
        runs = job(stack, hidden, RANK_BRANCH)
        path = f"{os.environ['DISTRIAGE_PYSPY']}:{Path(PYTHON).parent}:/usr/bin:/bin"
        yield [Run({**run.env, "PATH": path}) for run in runs]


@setup(
    "wrapped-checkpoint",
    "a real DDP job saved the state of the wrapped model",
    "wrapped_model_state",
    ["saving:wrapped", "checkpoint_keys:wrapped"],
    needs=("torch",),
    real_job=True,
    report="Loading the checkpoint fails.",
)
def wrapped_checkpoint(folder: Path) -> Iterator[list[Run]]:
    with ExitStack() as stack:
        job(stack, folder, WRAPPED)
    yield [Run(cwd=folder, arguments=("--checkpoint", "checkpoint.pt"))]


@setup(
    "deepspeed-batch",
    "DeepSpeed's train_batch_size is not the product of its parts",
    "batch_or_partition",
    ["deepspeed_batch:does_not_divide"],
    framework="deepspeed",
    report="It does not start.",
)
def deepspeed_batch(folder: Path) -> Iterator[list[Run]]:
    config = '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 6, "gradient_accumulation_steps": 4}'
    (folder / "ds_config.json").write_text(config, encoding="utf-8")
    yield [Run(run.env, cwd=folder) for run in ranks(2, free_port())]
