"""Starts a script's fault with torch.multiprocessing.spawn: spawned.py SCRIPT FAULT RANKS [how]."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import job
import torch.multiprocessing as mp


def work(rank: int, script: str, fault: str, ranks: int) -> None:
    """One rank."""
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks)}
    job.claim_voice()
    sys.argv = [script, fault]
    runpy.run_path(str(Path(__file__).with_name(script)), run_name="__main__")


def main() -> None:
    """Spawn the ranks, or fail at it in the way that the last argument names."""
    script, fault, ranks, *how = sys.argv[1:]
    if how == ["lambda"]:
        mp.spawn(lambda rank: work(rank, script, fault, int(ranks)), nprocs=int(ranks))
    elif how == ["lock"]:
        handle = Path(__file__).open()
        mp.spawn(work, args=(handle, fault, int(ranks)), nprocs=int(ranks))
    else:
        mp.spawn(work, args=(script, fault, int(ranks)), nprocs=int(ranks))


if __name__ == "__main__":
    main()
