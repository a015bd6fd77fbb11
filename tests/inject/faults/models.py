"""Faults in the model, the graph and the devices."""

from __future__ import annotations

from typing import Any

import torch
from job import Job, network, run
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class TwoHeads(nn.Module):
    """Of its two heads one is not used in each step."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head, self.spare = nn.Linear(16, 8), nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, inputs: Any) -> Any:
        return self.head(self.body(inputs))


class InPlace(nn.Module):
    """Changes what its own backward pass needs."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, inputs: Any) -> Any:
        hidden = torch.sigmoid(self.first(inputs))
        out = self.second(hidden)
        hidden += 1
        return out


class Narrow(nn.Module):
    """Its second layer takes another width than the first gives."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(16, 32), nn.Linear(24, 4)

    def forward(self, inputs: Any) -> Any:
        return self.second(self.first(inputs))


def unused_parameters(job: Job) -> None:
    job.connect()
    job.train(model=TwoHeads())


def in_place(job: Job) -> None:
    job.connect()
    job.train(model=InPlace())


def widths(job: Job) -> None:
    job.connect()
    job.train(model=Narrow())


def widths_on_one_rank(job: Job) -> None:
    job.connect()
    job.train(2)
    job.step(torch.randn(8, 12 if job.rank == 1 else 16))


def backward_twice(job: Job) -> None:
    job.connect()
    job.train(1)
    loss = job.model(torch.randn(4, 16)).square().mean()
    loss.backward()
    loss.backward()


def half_input(job: Job) -> None:
    job.connect()
    job.train(1)
    job.step(torch.randn(8, 16, dtype=torch.float64))


def frozen(job: Job) -> None:
    job.connect()
    job.train(model=network().requires_grad_(False))


def wrong_index(job: Job) -> None:
    job.connect()
    device = torch.device(f"cuda:{job.rank + 4}")
    network().to(device)


def wrong_device_ids(job: Job) -> None:
    job.connect()
    DistributedDataParallel(network(), device_ids=[job.rank + 2])


def other_device(job: Job) -> None:
    job.connect()
    job.train(1)
    job.step(torch.randn(8, 16, device="meta"))


def wrapped_attribute(job: Job) -> None:
    job.connect()
    model = DistributedDataParallel(TwoHeads(), find_unused_parameters=True)
    nn.init.zeros_(model.head.weight)


def undefined_name(job: Job) -> None:
    job.connect()
    job.train(2)
    if job.rank == 0:
        best = min(best_loss, 1.0)  # type: ignore[name-defined]  # noqa: F821
        print(best)


def embedding_range(job: Job) -> None:
    job.connect()
    job.train(1)
    table = nn.Embedding(100, 16)
    words = torch.randint(0, 100, (4, 6))
    if job.rank == 1:
        words[2, 3] = 100
    job.step(table(words).mean(1))


def not_for_type(job: Job) -> None:
    job.connect()
    job.train(1)
    torch.linalg.qr(torch.randn(4, 4).to(torch.bfloat16))


def last_batch(job: Job) -> None:
    job.connect()
    job.train(2)
    kept = torch.zeros(8, 16)
    inputs = torch.randn(5, 16)
    job.step(kept + inputs)


def metric_of_none(job: Job) -> None:
    """Only rank 0 evaluates, and the others print what they do not have."""
    job.connect()
    job.train(2)
    accuracy = {"accuracy": 0.71} if job.rank == 0 else None
    print(f"rank {job.rank}: accuracy {accuracy['accuracy']:.2f}")  # type: ignore[index]


def not_written(job: Job) -> None:
    job.connect()
    job.train(1)

    class Half(nn.Module):
        pass

    Half()(torch.zeros(2))


if __name__ == "__main__":
    run(
        {
            f.__name__: f
            for f in (
                unused_parameters,
                in_place,
                widths,
                widths_on_one_rank,
                backward_twice,
                half_input,
                frozen,
                wrong_index,
                wrong_device_ids,
                other_device,
                wrapped_attribute,
                undefined_name,
                embedding_range,
                not_for_type,
                last_batch,
                metric_of_none,
                not_written,
            )
        }
    )
