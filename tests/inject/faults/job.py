"""What every faulty job shares: where its ranks print, how they find each other, a few steps of training.

A fault is a function of one of the scripts beside this one, called `fault(job)` by `run`. The launcher gives rank and
world size in torchrun's variables or in Open MPI's.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

WAIT = timedelta(seconds=float(os.environ.get("JOB_WAIT", "20")))
"""How long a collective waits for a rank; so short that a hang ends while somebody looks on."""
log = logging.getLogger("train")


@dataclass
class Job:
    """One rank of a job; `model` is there after `train`. Steps are plain gradient descent: torch.optim takes
    seconds to import."""

    rank: int
    world: int
    model: Any = None

    def connect(self, **options: Any) -> None:
        """Join the process group."""
        import torch.distributed as dist

        dist.init_process_group("gloo", timeout=WAIT, **options)
        log.info("rank %d of %d joined the process group", self.rank, self.world)

    def train(self, steps: int = 3, *, model: Any = None, batch: int = 8) -> None:
        """Run a few steps of data-parallel training."""
        import torch
        from torch.nn.parallel import DistributedDataParallel

        torch.manual_seed(0)
        if self.model is None:
            self.model = DistributedDataParallel(model or network())
        for step in range(steps):
            loss = self.step(torch.randn(batch, 16))
            if self.rank == 0:
                log.info("epoch 0 step %d loss %.4f", step, loss)

    def step(self, inputs: torch.Tensor) -> float:
        """One step on one batch; the loss."""
        import torch

        loss = self.model(inputs).square().mean()
        loss.backward()
        with torch.no_grad():
            for parameter in self.model.parameters():
                if parameter.grad is not None:
                    parameter -= 0.1 * parameter.grad
                    parameter.grad = None
        return loss.item()


def network() -> torch.nn.Module:
    """A small network of 16 inputs and 4 outputs."""
    from torch import nn

    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))


def claim_voice() -> None:
    """Print to this rank's own pipe, so that the runner knows who said what."""
    folder, rank = os.environ.get("JOB_VOICES"), _rank()
    if not folder or rank is None or os.environ.get("JOB_VOICE") == str(rank):
        return
    os.environ["JOB_VOICE"] = str(rank)
    pipe = os.open(f"{folder}/rank{rank}", os.O_WRONLY)
    os.dup2(pipe, 1)
    os.dup2(pipe, 2)


def run(faults: Mapping[str, Callable[[Job], None]]) -> None:
    """Run the fault that the command line names in this rank."""
    claim_voice()
    rank = _rank()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    name = next(word for word in sys.argv[1:] if not word.startswith("-"))  # DeepSpeed adds --local_rank
    faults[name](Job(rank or 0, _world()))


def adopt_mpi() -> None:
    """Set torch's variables from Open MPI's, as training scripts do."""
    for name, source in (("RANK", "RANK"), ("WORLD_SIZE", "SIZE"), ("LOCAL_RANK", "LOCAL_RANK")):
        value = os.environ.get(f"OMPI_COMM_WORLD_{source}")
        if value is not None:
            os.environ.setdefault(name, value)


def _rank() -> int | None:
    return int(os.environ["RANK"]) if "RANK" in os.environ else None


def _world() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


adopt_mpi()
claim_voice()
