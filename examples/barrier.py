"""Hangs: rank 0 waits in a barrier that no other rank calls."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(8, 8))
for epoch in range(3):
    print(f"[rank{dist.get_rank()}]: epoch {epoch}", flush=True)
    model(torch.ones(4, 8)).sum().backward()
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "model.pt")
        dist.barrier()
