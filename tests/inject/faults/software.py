"""Faults of packages, files and settings."""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from job import Job, log, run


def _write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def _packages(job: Job) -> Path:
    folder = Path(os.environ.get("JOB_FOLDER", "/tmp")) / f"site-node{job.rank}"
    sys.path.insert(0, str(folder))
    return folder


def import_on_one(job: Job) -> None:
    """One node lacks a package."""
    folder = _packages(job)
    if job.rank != 1:
        _write(folder / "sentencepieces", "__init__.py", "")
    job.connect()
    import sentencepieces  # type: ignore[import-not-found]  # noqa: F401

    job.train()


def missing_package(job: Job) -> None:
    import flash_attn  # type: ignore[import-not-found]  # noqa: F401


def missing_name(job: Job) -> None:
    from torch.distributed import ReduceSum  # type: ignore[attr-defined]  # noqa: F401


def older_on_one(job: Job) -> None:
    """One node has an older release of a package, which lacks a function."""
    folder = _packages(job)
    text = '__version__ = "0.9.1"\n' if job.rank == 1 else '__version__ = "1.2.0"\ndef pack(x): return x\n'
    _write(folder / "fastpack", "__init__.py", text)
    job.connect()
    job.train(1)
    import fastpack  # type: ignore[import-not-found]

    fastpack.pack([1])
    job.train(2)


def checked_versions(job: Job) -> None:
    """The job compares versions over ranks and stops."""
    job.connect()
    mine = {"transformers": "4.41.2" if job.rank != 1 else "4.37.0", "torch": torch.__version__}
    everyone: list[dict[str, str] | None] = [None] * job.world
    dist.all_gather_object(everyone, mine)
    if any(other != everyone[0] for other in everyone):
        raise RuntimeError(f"package versions differ between ranks: {everyone}")


def missing_library(job: Job) -> None:
    ctypes.CDLL("libnvshmem_host.so.3")


def broken_json(job: Job) -> None:
    path = Path(os.environ.get("JOB_FOLDER", "/tmp")) / "ds_config.json"
    path.write_text('{\n  "train_batch_size": 32,\n  "zero_optimization": {"stage": 2,}\n}\n')
    job.connect()
    log.info("configuration: %s", json.loads(path.read_text()))


def missing_setting(job: Job) -> None:
    job.connect()
    job.train(1)
    config = {"model": {"hidden": 128}}
    print(config["optimizer"]["lr"])  # type: ignore[index]


def arguments(job: Job) -> None:
    parser = argparse.ArgumentParser(prog="train.py")
    parser.add_argument("--config")
    parser.parse_args(["--config", "a.yaml", "--local_rank=0"])


def missing_variable(job: Job) -> None:
    job.connect()
    print(os.environ["DATA_ROOT"])


if __name__ == "__main__":
    run(
        {
            f.__name__: f
            for f in (
                import_on_one,
                missing_package,
                missing_name,
                older_on_one,
                checked_versions,
                missing_library,
                broken_json,
                missing_setting,
                arguments,
                missing_variable,
            )
        }
    )
